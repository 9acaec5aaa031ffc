// SPDX-License-Identifier: Apache-2.0

// Command aipub-node is the agent of one node. It reads the GPUs, cuts them as
// the PartitionPolicy says, serves the slices to the kubelet, and reports what
// the node is in its NodePartition.
//
// The wiring in run.go follows the flow: what was remembered, the node's truth,
// the kubelet, the hardware, the cluster, and back out to the NodePartition.
// Serving the kubelet comes before anything slow, so that it hears the same
// device IDs again at once after a restart.
package main
