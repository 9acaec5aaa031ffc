// SPDX-License-Identifier: Apache-2.0

package gpu

// Holding is what one container holds of one set.
type Holding struct {
	Holder Holder
	Set    string
	Slices []SliceID
}

// Pod is a pod that the API server has bound to this node and that has not
// ended (its phase is neither Succeeded nor Failed).
type Pod struct {
	Namespace, Name, UID string
	// Sets is how many slices of each set the pod needs at the same time: the
	// larger of what its containers need together and what any init container
	// needs; nil when it is not known.
	Sets map[string]int
	// Containers is the runtime's ID of each container that was started, by name,
	// without the runtime's own name.
	Containers map[string]string
}

// Observation is who holds what on the node, as the kubelet and the API server
// said at one moment.
type Observation struct {
	// Mark orders the observation among the claims: it was taken from the
	// node's state before the kubelet was asked.
	Mark uint64
	// Holdings is everything that the kubelet lists.
	Holdings []Holding
	// Pods are the node's pods that have not ended. They are the second
	// witness: a kubelet that has just started lists nothing.
	Pods []Pod
	// PodsKnown is false while the API server has not been heard yet.
	PodsKnown bool
}
