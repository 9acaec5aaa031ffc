// SPDX-License-Identifier: Apache-2.0

// Package kube joins the node's truth to the cluster: it brings in what the
// cluster wants of this node (its labels and allocatable amounts, the policies,
// the sets, the pods on it) and takes out what the node is (its NodePartition,
// its events, and the removal of resource names that nobody serves any more).
//
// It decides nothing: what to do with a Desired is its caller's business.
package kube
