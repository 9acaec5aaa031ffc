// SPDX-License-Identifier: Apache-2.0

// Package partitioner turns what a node has and what a PartitionPolicy wants
// into what the node offers:
//
//	capacity + policy ──Divide──▶ set sizes ──Plan──▶ layout ──Steps──▶ hardware
//
// Divide works on all nodes of a policy and decides how much CPU and memory one
// of each set is. Plan works on one node and decides which slices exist and
// which counters they share. Steps says how a GPU's MIG instances get from what
// they are to what the layout needs. Fit and Free answer what a node can still
// hold. Validate and Conflicts refuse what cannot be meant.
//
// # Even division
//
// On each node the policy's reserve is taken off the allocatable CPU and memory
// first, then the CPU-only sets that have perNode. The rest is split over the
// zones of the node: its NUMA nodes in proportion to their CPUs and memory if
// the policy says Aligned, there is more than one, and the NUMA node of every
// GPU is known; otherwise the node is one zone. Each zone is divided evenly over
// those of its GPUs that at least one set can use. That is a GPU's share.
//
// The share is divided over the slices of the GPU in proportion to their size:
// a block's percent, a MIG instance's compute slices, one for a whole GPU. The
// proportion is scaled so that the fullest mixture of the policy's sets that one
// GPU can hold uses the whole share: three blocks of 30 percent get a third
// each, and two MIG instances of 3 compute slices a half each, although a GPU
// has 7. So no legal combination of slices asks for more CPU or memory than
// there is, and no GPU is stranded for lack of either.
//
// A set has one size in the cluster: the smallest of all places where it can
// live. CPU is rounded down to whole cores from one core on, and to 10m below;
// memory to 64 MiB from 1 GiB on, and to 1 MiB below. What rounding and the
// smallest place leave over is reported as the remainder. A set that gives its
// own cpu or memory keeps it; it may then be the CPU that limits how many fit.
//
// CPU-only sets without perNode get what remains when the GPU sets use the most
// that they can, so they never take what a GPU needs.
//
// Everything here is a pure function of its arguments: no I/O, no clock, no
// log, no state kept from call to call. CPU is in thousandths of a core, memory
// in bytes.
package partitioner
