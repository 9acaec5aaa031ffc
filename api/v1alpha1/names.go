// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// ResourcePrefix stands before a set's name in the resource that a pod
	// asks for: aipub.io/set-small.
	ResourcePrefix = "aipub.io/set-"

	// ProjectLabel on a namespace makes it part of a project. Only pods in
	// such namespaces are managed.
	ProjectLabel = "aipub.io/project"

	// SetAnnotation on a pod records, per container, the set that admission
	// expanded: "container=set,container=set".
	SetAnnotation = "aipub.io/sets"

	// SystemNamespace is where the node agent and the controller run.
	SystemNamespace = "aipub-system"
)

// Condition types and reasons. The same reason appears in the condition, the
// event, the metric label and the command line.
const (
	// ConditionReady says whether the object has taken effect.
	ConditionReady = "Ready"

	ReasonApplied             = "Applied"
	ReasonNoPolicy            = "NoPolicy"
	ReasonNoNodes             = "NoNodes"
	ReasonInvalidPolicy       = "InvalidPolicy"
	ReasonSetDoesNotFit       = "SetDoesNotFit"
	ReasonLayoutDoesNotFit    = "LayoutDoesNotFit"
	ReasonNotInLayout         = "NotInLayout"
	ReasonNoMatchingGPU       = "NoMatchingGPU"
	ReasonConflictingSet      = "ConflictingSet"
	ReasonOverlappingPolicies = "OverlappingPolicies"
	ReasonWaitingForIdle      = "WaitingForIdle"
	ReasonPending             = "Pending"
	ReasonHardware            = "Hardware"
	ReasonHealthy             = "Healthy" // a GPU or instance is fit again
)
