// SPDX-License-Identifier: Apache-2.0

// Package quota measures what quota, queue and gates must reach in a cluster:
// quota.*, queue.* and cluster.* of docs/benchmarks.md.
//
// The kube-apiserver and its etcd are real, and the controllers are processes of the
// real program, with the chart's rights, webhooks and policies. Nodes, their
// partitions and pods exist in the API alone: no scheduler and no kubelet runs, so
// that what is measured is ours and the API server's.
package quota
