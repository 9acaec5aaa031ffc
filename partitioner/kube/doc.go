// SPDX-License-Identifier: Apache-2.0

// Package kube joins the partitioner to the cluster: it reads PartitionPolicies,
// Nodes and NodePartitions, has the partitioner divide them, and writes
// ResourceSets and the status of policies and sets.
//
//	Nodes + NodePartitions ─▶ FromNodePartition ─▶ partitioner ─▶ Outcome ─▶ ResourceSets, status
//
// Judge is the whole decision as a pure function of a Snapshot; the Controller
// carries it out and decides nothing itself. It looks at everything at once and
// corrects what differs, so it does not matter which change woke it.
//
// Cleaner takes the product's traces off the Nodes when it is uninstalled.
package kube
