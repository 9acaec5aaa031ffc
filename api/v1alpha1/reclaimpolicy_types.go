// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReclaimPolicy says how long Workspaces may hold their sets, and when one that
// nobody uses is paused. Where several bind a Workspace, the strictest wins, for
// each rule on its own. Jobs and Operations are never touched.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=rcp,categories=aipub
// +kubebuilder:printcolumn:name="Project",type=string,JSONPath=`.spec.scope.project`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.spec.scope.user`
// +kubebuilder:printcolumn:name="Hours",type=integer,JSONPath=`.spec.maxOccupancyHours`
// +kubebuilder:printcolumn:name="Idle-Minutes",type=integer,JSONPath=`.spec.idle.afterMinutes`
// +kubebuilder:printcolumn:name="Bound",type=integer,JSONPath=`.status.bound`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextAt`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
type ReclaimPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ReclaimPolicySpec `json:"spec"`
	// +optional
	Status ReclaimPolicyStatus `json:"status,omitempty"`
}

// ReclaimPolicyList is a list of ReclaimPolicies.
//
// +kubebuilder:object:root=true
type ReclaimPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReclaimPolicy `json:"items"`
}

// ReclaimScope says whom a policy binds.
//
// +kubebuilder:validation:XValidation:rule="(has(self.everyone) && self.everyone) != (has(self.project) || has(self.user))",message="give project, user or both, or everyone: true"
type ReclaimScope struct {
	// project binds the Workspaces of this project, of one user where user is given.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Project string `json:"project,omitempty"`
	// user binds this person's Workspaces.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	User string `json:"user,omitempty"`
	// everyone binds all.
	// +optional
	Everyone bool `json:"everyone,omitempty"`
}

// ReclaimPolicySpec is whom a policy binds, and to what.
type ReclaimPolicySpec struct {
	Scope ReclaimScope `json:"scope"`
	// maxOccupancyHours is how long a Workspace may hold its set, from when it got
	// it; resuming starts the clock anew. 0 is no limit.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99999
	// +optional
	MaxOccupancyHours int32 `json:"maxOccupancyHours,omitempty"`
	// idle pauses what nobody uses.
	// +optional
	Idle *IdleRule `json:"idle,omitempty"`
	// warnBefore are how long before a pause its user is told, such as 24h, 1h, 10m.
	// +kubebuilder:default={"24h","1h","10m"}
	// +kubebuilder:validation:XValidation:rule="self.all(w, duration(w) >= duration('1s'))",message="warnBefore takes lengths of time of 1s or more, such as 24h, 1h30m or 10m"
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	WarnBefore []metav1.Duration `json:"warnBefore,omitempty"`
	// graceMinutes is how long there is at least between a warning and the pause,
	// also where a limit was lowered or the controller was away.
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10080
	// +optional
	GraceMinutes *int32 `json:"graceMinutes,omitempty"`
	// maxExtensionHours is how much time a user may add, in all, until it is resumed
	// anew. More takes the verb extend on workspaces.aipub.io.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99999
	// +optional
	MaxExtensionHours int32 `json:"maxExtensionHours,omitempty"`
	// quietHours are times in which nothing is paused; it is put off to their end.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	QuietHours []QuietHours `json:"quietHours,omitempty"`
	// save Commit has the container's own file system saved before a pause.
	// +kubebuilder:default=Home
	// +optional
	Save SaveMode `json:"save,omitempty"`
	// maxSaveSize is the most that is saved of one container. What holds more is not
	// paused, and its user and the administrator are told.
	// +kubebuilder:default="20Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0",message="maxSaveSize must be 0 or more"
	// +optional
	MaxSaveSize *resource.Quantity `json:"maxSaveSize,omitempty"`
	// notify also sends warnings and pauses to a URL.
	// +optional
	Notify *NotifyURL `json:"notify,omitempty"`
}

// IdleRule says what idle is. Unknown is not idle: what could not be watched for
// the whole time is not paused.
type IdleRule struct {
	// afterMinutes without any activity it is idle.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=525600
	AfterMinutes int32 `json:"afterMinutes"`
	// signals that count as activity: GPU, CPU, Terminal (input or output) and
	// Kernel (of a notebook). An open browser is none of these.
	// +kubebuilder:default={"GPU","CPU","Terminal","Kernel"}
	// +kubebuilder:validation:MinItems=1
	// +listType=set
	// +optional
	Signals []IdleSignal `json:"signals,omitempty"`
}

// IdleSignal is GPU, CPU, Terminal or Kernel.
// +kubebuilder:validation:Enum=GPU;CPU;Terminal;Kernel
type IdleSignal string

// The values of IdleSignal.
const (
	IdleGPU      IdleSignal = "GPU"
	IdleCPU      IdleSignal = "CPU"
	IdleTerminal IdleSignal = "Terminal"
	IdleKernel   IdleSignal = "Kernel"
)

// QuietHours is a time of day, to the end of the day or past midnight where to is
// not after from.
type QuietHours struct {
	// from and to are HH:MM.
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from"`
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	To string `json:"to"`
	// days on which it begins; each day without them.
	// +listType=set
	// +optional
	Days []Weekday `json:"days,omitempty"`
	// timeZone such as Asia/Seoul; UTC without it.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// Weekday is a day in three letters.
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// NotifyURL is where a notice is posted, as JSON.
type NotifyURL struct {
	// url with http or https.
	// +kubebuilder:validation:Pattern=`^https?://`
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`
}

// ReclaimPolicyStatus is what a policy does.
type ReclaimPolicyStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// bound counts the Workspaces whose deadline it sets, dueSoon those within a
	// day, and nextAt is the first of them.
	// +optional
	Bound int32 `json:"bound,omitempty"`
	// +optional
	DueSoon int32 `json:"dueSoon,omitempty"`
	// +optional
	NextAt *metav1.Time `json:"nextAt,omitempty"`
	// months are what it did, the latest first.
	// +listType=map
	// +listMapKey=month
	// +kubebuilder:validation:MaxItems=13
	// +optional
	Months []ReclaimMonth `json:"months,omitempty"`
	// countedUntil is up to when months are counted.
	// +optional
	CountedUntil *metav1.Time `json:"countedUntil,omitempty"`
	// conditions: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReclaimMonth is what a policy did in a month (UTC).
type ReclaimMonth struct {
	// month as 2026-11.
	Month string `json:"month"`
	// pauses is how often it paused something.
	Pauses int32 `json:"pauses"`
	// reclaimedSeconds is for how long sets were free because of that: from each
	// pause to its resume.
	ReclaimedSeconds int64 `json:"reclaimedSeconds"`
	// ghostSeconds is how long sets were held by what was idle.
	GhostSeconds int64 `json:"ghostSeconds"`
}
