// SPDX-License-Identifier: Apache-2.0

// Package placement decides where: on which node a pod gets which slices, what is
// kept for one that found none, and why there is no place. Whether a pod may have
// them, and whose turn it is, is decided elsewhere. It is pure: the same code
// serves the loop that opens gates and every dry run.
//
// # What fits
//
// Sets of different sizes overlap on one GPU, so counts do not say what a node can
// hold. A [Room] holds a ledger of each node's counters, from what its agent
// reports and what was decided since; partitioner.Holds has the last word on every
// seat. Where a place exists only for an unusual mixture of sets on one node, or of
// a gang over nodes, the search is bounded and may miss it; it never gives a place
// that is not there.
//
// # Which place
//
// On a node the same code as in the device plugin chooses (gpu/choice), so that the
// kubelet, which has the choice in the end, comes to the same one. Among nodes it
// goes on in the same way: where other sets lose least, on the fullest GPU, on the
// fullest node, by name.
//
// # What is not looked at
//
// Node selectors, required node affinity and taints are respected. Affinity between
// pods, spread constraints, volumes and preferences are left to the scheduler.
package placement
