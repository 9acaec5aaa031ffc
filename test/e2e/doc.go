// SPDX-License-Identifier: Apache-2.0

// Package e2e shows the whole flow on a real kube-apiserver, scheduler, kubelet
// and containerd with simulated GPUs: `make e2e` brings them up and runs its
// tests. They share one node, so they run one after the other, and each leaves
// the node as it found it.
package e2e
