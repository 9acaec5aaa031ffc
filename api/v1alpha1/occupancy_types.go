// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Occupancy is the clock of what is bound by ReclaimPolicies: a Workspace, or a
// workload of another kind of type Workspace, which has it in the annotation
// aipub.io/occupancy.
type Occupancy struct {
	// since is when it got its set; absent while it holds none.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// pod is the UID of a pod that holds it.
	// +optional
	Pod string `json:"pod,omitempty"`
	// heldSeconds is how long it held sets before since, after it was resumed last.
	// +optional
	HeldSeconds int64 `json:"heldSeconds,omitempty"`
	// expiresAt is when it will be paused; absent where nothing says so.
	// +optional
	ExpiresAt *metav1.Time `json:"expiresAt,omitempty"`
	// reason is OccupancyLimit or Idle, and policy the ReclaimPolicy that binds.
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Policy string `json:"policy,omitempty"`
	// signal is Active, Idle or Unknown; unknown is never idle.
	// +optional
	Signal ActivitySignal `json:"signal,omitempty"`
	// activeAt is when it last worked, as far as is known, and evidence what says so.
	// +optional
	ActiveAt *metav1.Time `json:"activeAt,omitempty"`
	// +optional
	Evidence string `json:"evidence,omitempty"`
	// warnings that were sent for expiresAt.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +optional
	Warnings []ReclaimWarning `json:"warnings,omitempty"`
	// extensions since it was resumed.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +optional
	Extensions []Extension `json:"extensions,omitempty"`
	// takenBackSeconds is how much of extensions had kept it from being idle when they
	// were taken back; it counts in those that follow.
	// +optional
	TakenBackSeconds int64 `json:"takenBackSeconds,omitempty"`
}

// ActivitySignal has three values.
// +kubebuilder:validation:Enum=Active;Idle;Unknown
type ActivitySignal string

// The values of ActivitySignal.
const (
	SignalActive  ActivitySignal = "Active"
	SignalIdle    ActivitySignal = "Idle"
	SignalUnknown ActivitySignal = "Unknown"
)

// ReclaimWarning is a warning that was sent.
type ReclaimWarning struct {
	// at is when, and expiresAt the deadline for which it holds.
	At        metav1.Time `json:"at"`
	ExpiresAt metav1.Time `json:"expiresAt"`
	// beforeSeconds is which of the policy's warnings it was; for one of an earlier
	// deadline, how long it came before this one.
	BeforeSeconds int64 `json:"beforeSeconds"`
	// reason is that of the deadline.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// Extension is time that somebody added.
type Extension struct {
	At      metav1.Time `json:"at"`
	By      string      `json:"by"`
	Seconds int64       `json:"seconds"`
	// usedSeconds is how much of it extensions had used that were taken back before.
	// +optional
	UsedSeconds int64 `json:"usedSeconds,omitempty"`
}

// Pause is a pause that was asked for.
type Pause struct {
	// at is when it was asked for, by is the user or the ReclaimPolicy.
	At metav1.Time `json:"at"`
	// reason is Requested, OccupancyLimit or Idle.
	Reason string `json:"reason"`
	// +optional
	By string `json:"by,omitempty"`
	// snapshot that saves it; retryAt and message where saving failed.
	// +optional
	Snapshot string `json:"snapshot,omitempty"`
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// +optional
	RetryAt *metav1.Time `json:"retryAt,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// freedAt is when its set was free.
	// +optional
	FreedAt *metav1.Time `json:"freedAt,omitempty"`
}
