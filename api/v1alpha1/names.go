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

	// SetLabel on a managed pod names the set that it asks for, the first one where
	// it asks for several. Admission writes it; it never changes.
	SetLabel = "aipub.io/set"

	// WorkspaceLabel on all that belongs to a Workspace is its name.
	WorkspaceLabel = "aipub.io/workspace"

	// QuotaGate is the scheduling gate of managed pods that ask for a set. Only the
	// controller opens it. What is charged is what is open and has not ended.
	QuotaGate = "aipub.io/quota"

	// SystemNamespace is where the node agent and the controller run.
	SystemNamespace = "aipub-system"
)

// Annotations that admission stamps, and that nobody changes afterwards.
const (
	// UserAnnotation is who the object is charged to: the name of the person who
	// wrote it or its owner, or ProjectUserPrefix and a project for what belongs
	// to a project as a whole.
	UserAnnotation = "aipub.io/user"
	// ProjectAnnotation is the project of the object's namespace when it was made.
	ProjectAnnotation = "aipub.io/project"
	// TypeAnnotation is the WorkloadType. Whoever writes a workload may choose it;
	// else its kind decides.
	TypeAnnotation = "aipub.io/type"
	// WorkloadAnnotation on a pod is the workload that it belongs to, the highest
	// controlling owner below a CronJob, as GROUP/KIND/NAME/UID; GROUP is empty for
	// core kinds. A pod without it is a workload of its own.
	WorkloadAnnotation = "aipub.io/workload"
	// ProjectUserPrefix stands before a project's name in UserAnnotation.
	ProjectUserPrefix = "project:"
)

// Annotations on a workload that order the queue. Who may write them is decided
// by RBAC: the verbs reorder, on the priorityqueues.aipub.io of the project, and
// promote, on all of them.
const (
	// RankAnnotation is the workload's place in its project's queue, a string that
	// sorts; a workload without it stands where its time of creation puts it.
	RankAnnotation = "aipub.io/rank"
	// PromotedAnnotation is like RankAnnotation, before all that have none, in
	// whatever project.
	PromotedAnnotation = "aipub.io/promoted"
	// RankedByAnnotation is who last changed one of the two; admission stamps it.
	RankedByAnnotation = "aipub.io/ranked-by"
)

// Annotations on a workload that its author writes.
const (
	// GangAnnotation on a Job is how many of its pods start together or not at
	// all, from 2; "all" is spec.parallelism.
	GangAnnotation = "aipub.io/gang"
	// MinReplicasAnnotation on a Deployment or StatefulSet of type Operation is how
	// many of its pods are guaranteed; the others are headroom. Without it the
	// minReplicas of a HorizontalPodAutoscaler on it counts, else 1.
	MinReplicasAnnotation = "aipub.io/min-replicas"
)

// Annotations of what is bound by ReclaimPolicies and is no [Workspace]: a workload
// of another kind that is of type Workspace.
const (
	// OccupancyAnnotation is its [Occupancy], as JSON. Only the controller writes it.
	OccupancyAnnotation = "aipub.io/occupancy"
	// PausedAnnotation is its [Pause], as JSON, while it is paused. Only the
	// controller writes it; whoever may update the workload takes it away to resume.
	PausedAnnotation = "aipub.io/paused"
	// PausedReplicasAnnotation is how many replicas it had before it was paused.
	PausedReplicasAnnotation = "aipub.io/paused-replicas"
)

// FromImageAnnotation on a Workspace names the WorkspaceSnapshot that it shall not be
// started from: it starts from spec.image. Later ones count again.
const FromImageAnnotation = "aipub.io/from-image"

// Annotations on what is bound by ReclaimPolicies.
const (
	// PauseAnnotation set to "true" on a workload that is no Workspace asks for a
	// pause, "false" for a resume; the controller takes it away when it is done.
	PauseAnnotation = "aipub.io/pause"
	// ExtendAnnotation is how much time is added to its clock in all since it was
	// resumed, such as "8h". Up to the policy's extension whoever may update it
	// writes it; beyond that it takes the verb extend on workspaces.aipub.io.
	ExtendAnnotation = "aipub.io/extend"
	// ExtendedByAnnotation is who last changed it; admission stamps it.
	ExtendedByAnnotation = "aipub.io/extended-by"
)

// Annotations that the controller writes when it opens a pod's gate.
const (
	// NodeAnnotation is the node chosen for the pod.
	NodeAnnotation = "aipub.io/node"
	// OpenedAnnotation is how it was opened: Within, Borrowed, Headroom, Surge or
	// Unmanaged.
	OpenedAnnotation = "aipub.io/opened"
)

// WorkloadType decides what happens over quota, and who gives back first.
// +kubebuilder:validation:Enum=Workspace;Job;Operation
type WorkloadType string

// The workload types.
const (
	// TypeWorkspace is interactive: over quota it is refused at once.
	TypeWorkspace WorkloadType = "Workspace"
	// TypeJob is batch: over quota it waits in the queue.
	TypeJob WorkloadType = "Job"
	// TypeOperation serves: refused where its minimum does not fit, its further
	// replicas wait.
	TypeOperation WorkloadType = "Operation"
)

// ConditionAllocated on a managed pod says whether its gate is open and, while it
// is not, why.
const ConditionAllocated = "aipub.io/Allocated"

// Why a pod's gate is open or not.
const (
	ReasonOpened              = "Opened"
	ReasonProjectQuotaReached = "ProjectQuotaReached"
	ReasonUserQuotaReached    = "UserQuotaReached"
	ReasonBehindHead          = "BehindHead"      // an earlier one of the project's queue goes first
	ReasonNoRoomOnNodes       = "NoRoomOnNodes"   // the nodes that have the set are taken
	ReasonKeptForEarlier      = "KeptForEarlier"  // there is room, and it is kept for an earlier one
	ReasonNoNodeHasSet        = "NoNodeHasSet"    // no node, or none that the pod may be on, has such a set
	ReasonGangIncomplete      = "GangIncomplete"  // not all pods of the gang exist yet
	ReasonOtherGates          = "OtherGates"      // another system holds it by a scheduling gate of its own
	ReasonUnknownSet          = "UnknownSet"      // no ResourceSet has the name
	ReasonUnmanaged           = "Unmanaged"       // the namespace is not managed any more
	ReasonYieldedBorrowed     = "YieldedBorrowed" // borrowed quota was taken back
	ReasonYieldedHeadroom     = "YieldedHeadroom" // headroom was taken back
	ReasonNodeLost            = "NodeLost"        // the chosen node was lost before the pod was bound
	ReasonSetChanged          = "SetChanged"      // its set has another size than when the pod was made
	ReasonWithinQuota         = "WithinQuota"     // condition OverQuota is false
	ReasonOverLimit           = "OverLimit"       // condition OverQuota is true
	ReasonMoved               = "Moved"           // an administrator changed the order
	ReasonPromoted            = "Promoted"        // an administrator moved it to the front
)

// Condition types of quotas and queues.
const (
	// ConditionOverQuota: more is held than the limits allow, because they were
	// lowered or what is held was there before.
	ConditionOverQuota = "OverQuota"
	// ConditionHeadBlocked: the queue's head waits, and others behind it.
	ConditionHeadBlocked = "HeadBlocked"
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
