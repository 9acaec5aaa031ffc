// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceSetQuota limits how many sets a project, a person, or each person of a
// project holds at once. All quotas that bind a pod must have room for it. A
// lowered quota ends nothing: it blocks what is new.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rsq,categories=aipub
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.scope.project`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.scope.user`
// +kubebuilder:printcolumn:name="Each",type=boolean,JSONPath=`.spec.scope.eachUser`
// +kubebuilder:printcolumn:name="GPU",type=string,JSONPath=`.spec.limits.gpu`
// +kubebuilder:printcolumn:name="Used",type=string,JSONPath=`.status.used.gpu`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.waiting.pods`
// +kubebuilder:printcolumn:name="Over",type=string,JSONPath=`.status.conditions[?(@.type=="OverQuota")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type ResourceSetQuota struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ResourceSetQuotaSpec `json:"spec"`
	// +optional
	Status ResourceSetQuotaStatus `json:"status,omitempty"`
}

// ResourceSetQuotaList is a list of quotas.
//
// +kubebuilder:object:root=true
type ResourceSetQuotaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ResourceSetQuota `json:"items"`
}

// QuotaScope says whom a quota binds.
//
// +kubebuilder:validation:XValidation:rule="has(self.project) || has(self.user)",message="give project, user, or project and eachUser: true"
// +kubebuilder:validation:XValidation:rule="!(has(self.eachUser) && self.eachUser) || (has(self.project) && !has(self.user))",message="eachUser: true goes with project and without user"
type QuotaScope struct {
	// project binds what belongs to this project.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Project string `json:"project,omitempty"`
	// user binds what this person holds: in the project where one is given, else
	// everywhere.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	User string `json:"user,omitempty"`
	// eachUser binds each person of the project, each with limits of their own.
	// +optional
	EachUser bool `json:"eachUser,omitempty"`
}

// SetLimits are amounts that may be held at once. What is not named is not limited.
type SetLimits struct {
	// sets limits how many of each set, by its name; 0 allows none.
	// +kubebuilder:validation:XValidation:rule="!self.exists(n, n.startsWith('aipub.io/'))",message="sets has the names of sets alone: small for aipub.io/set-small"
	// +kubebuilder:validation:XValidation:rule="self.all(n, self[n] >= 0)",message="sets counts from 0; leave a set out not to limit it"
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Sets map[string]int32 `json:"sets,omitempty"`
	// gpu limits GPU-equivalents: the sum of the shares of GPUs in all sets, such as
	// "4" or "0.5", in steps of 0.0025. CPU-only sets count nothing.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0",message="gpu must be 0 or more"
	// +kubebuilder:validation:XValidation:rule="[quantity(string(self)).asApproximateFloat() * 400.0].all(n, n < 0.0 || (n <= 4e8 && n - double(int(n + 0.5)) < 2e-7 && double(int(n + 0.5)) - n < 2e-7))",message="gpu is a multiple of 0.0025, such as 0.43 for three sevenths of a GPU, and at most 1000000; leave it out not to limit it"
	// +optional
	GPU *resource.Quantity `json:"gpu,omitempty"`
}

// QuotaLimits are the limits of a quota, as a whole and by workload type.
type QuotaLimits struct {
	SetLimits `json:",inline"`
	// byType limits Workspace, Job and Operation each on its own.
	// +kubebuilder:validation:XValidation:rule="self.all(t, t in ['Workspace', 'Job', 'Operation'])",message="byType has the keys Workspace, Job and Operation"
	// +kubebuilder:validation:MaxProperties=3
	// +optional
	ByType map[WorkloadType]SetLimits `json:"byType,omitempty"`
}

// ResourceSetQuotaSpec is whom a quota binds, and to what.
//
// +kubebuilder:validation:XValidation:rule="!has(self.borrowing) || (has(self.scope.project) && (has(self.scope.user) || (has(self.scope.eachUser) && self.scope.eachUser)))",message="borrowing goes with a quota of a person in a project: what is borrowed is the project's"
type ResourceSetQuotaSpec struct {
	Scope QuotaScope `json:"scope"`
	// limits; the byType ones count in the whole as well.
	Limits QuotaLimits `json:"limits"`
	// surgePods is how many pods may stand above the limits at once, over all
	// workloads that this quota binds, while a rolling update replaces an older pod
	// of the same workload, one that asks for no less, by each. 0 allows none: a Deployment at its limit then
	// rolls only if its maxUnavailable lets an old pod go first.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	SurgePods *int32 `json:"surgePods,omitempty"`
	// borrowing lets Jobs go beyond this quota while the quotas of the project as a
	// whole have room. They are the first to yield.
	// +optional
	Borrowing *Borrowing `json:"borrowing,omitempty"`
}

// Borrowing says how Jobs use what their project leaves unused.
type Borrowing struct {
	// minRunSeconds is how long a borrowing pod runs before it may have to yield.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	// +optional
	MinRunSeconds *int32 `json:"minRunSeconds,omitempty"`
}

// ResourceSetQuotaStatus is what is held and what waits.
type ResourceSetQuotaStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// used is what is held by pods whose gate is open and that have not ended.
	// +optional
	Used SetAmounts `json:"used,omitempty"`
	// reserved is what is kept for minimums of Operations beyond their open pods.
	// +optional
	Reserved SetAmounts `json:"reserved,omitempty"`
	// borrowed and surge are the parts of used that stand above the limits by their rules.
	// +optional
	Borrowed SetAmounts `json:"borrowed,omitempty"`
	// +optional
	Surge SetAmounts `json:"surge,omitempty"`
	// waiting is what pods with a closed gate ask for.
	// +optional
	Waiting SetAmounts `json:"waiting,omitempty"`
	// users splits used and waiting by person, most used first, at most 100.
	// +listType=map
	// +listMapKey=user
	// +optional
	Users []UserAmounts `json:"users,omitempty"`
	// holders are the workloads that hold most, at most 100.
	// +listType=atomic
	// +optional
	Holders []QuotaHolder `json:"holders,omitempty"`
	// leftOff is how many holders are not listed.
	// +optional
	LeftOff int32 `json:"leftOff,omitempty"`
	// conditions: Ready, OverQuota.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SetAmounts counts sets, GPU-equivalents and pods.
type SetAmounts struct {
	// +optional
	Sets map[string]int32 `json:"sets,omitempty"`
	// gpu in GPU-equivalents, rounded to thousandths for display; the decisions are
	// exact.
	// +optional
	GPU *resource.Quantity `json:"gpu,omitempty"`
	// +optional
	Pods int32 `json:"pods,omitempty"`
}

// UserAmounts is one person's part.
type UserAmounts struct {
	User string `json:"user"`
	// +optional
	Used SetAmounts `json:"used,omitempty"`
	// +optional
	Waiting SetAmounts `json:"waiting,omitempty"`
}

// QuotaHolder is a workload that holds sets.
type QuotaHolder struct {
	User      string       `json:"user"`
	Namespace string       `json:"namespace"`
	Kind      string       `json:"kind"`
	Name      string       `json:"name"`
	Type      WorkloadType `json:"type"`
	Held      SetAmounts   `json:"held"`
	// since is when its oldest pod's gate was opened.
	Since metav1.Time `json:"since"`
	// dueBack is when it has to give them back, where a limit says so.
	// +optional
	DueBack *metav1.Time `json:"dueBack,omitempty"`
}
