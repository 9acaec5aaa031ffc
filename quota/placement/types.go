// SPDX-License-Identifier: Apache-2.0

package placement

import (
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

// Node is one node as pods see it. Make it with NodeFrom, once for each version of
// the objects: it is read only afterwards and can be given to many rooms.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
	// Usable is true when the node is ready, schedulable, and its agent reports.
	Usable bool
	// Unusable says in a few words why it is not.
	Unusable string
	// Layout has all slices, also those that the policy no longer has and that
	// are still held.
	Layout gpu.Layout
	// Held is by whom each held slice is held: a pod's UID, or its namespace and
	// name with a slash between, or "" where that is not known yet.
	Held map[gpu.SliceID]string
	// Down are slices that nobody can be given: unhealthy, preparing, retired.
	Down map[gpu.SliceID]bool
	// NotOffered are sets of which the kubelet offers none at the moment, though
	// slices are free: it has yet to hear of them. Nothing is placed there, but
	// room can be kept.
	NotOffered map[string]bool

	// board and start are the above by position, worked out once; nil where it
	// was not made by NodeFrom.
	board *choice.Board
	start *choice.State
}

// Ask is a pod that asks for slices.
type Ask struct {
	UID, Namespace, Name string
	// Sets are how many slices of each set it needs at the same time.
	Sets map[string]int64
	// Pod says where it may be; nil: anywhere.
	Pod *corev1.PodSpec
}

// Seat is a place for a pod.
type Seat struct {
	UID, Node string
	Slices    []gpu.SliceID
}

// Why says why there is no place. It may be shared and is read only.
type Why struct {
	// Reason is api.ReasonNoNodeHasSet, ReasonNoRoomOnNodes or
	// ReasonKeptForEarlier.
	Reason string
	// Message is a sentence for people.
	Message string
	// Nodes says for each node, in a few words, what is in the way.
	Nodes map[string]string
}
