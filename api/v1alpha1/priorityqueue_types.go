// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PriorityQueue says in which order the waiting workloads of a project go. It is
// named like the project. A project without one has FirstAllocating and priority 0.
// The order itself stands on the workloads, as rank annotations; "kubectl aipub
// queue" shows and changes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=pq,categories=aipub
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="a queue is named like its project, at most 63 characters"
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Waiting",type=integer,JSONPath=`.status.workloads`
// +kubebuilder:printcolumn:name="HeadBlocked",type=string,JSONPath=`.status.conditions[?(@.type=="HeadBlocked")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="HeadBlocked")].reason`
type PriorityQueue struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec PriorityQueueSpec `json:"spec,omitempty"`
	// +optional
	Status PriorityQueueStatus `json:"status,omitempty"`
}

// PriorityQueueList is a list of queues.
//
// +kubebuilder:object:root=true
type PriorityQueueList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PriorityQueue `json:"items"`
}

// QueuePolicy is FirstAllocating or FirstScheduling.
// +kubebuilder:validation:Enum=FirstAllocating;FirstScheduling
type QueuePolicy string

// The queue policies.
const (
	// FirstAllocating: while the head waits for the project's quota or for room,
	// nobody behind it goes.
	FirstAllocating QueuePolicy = "FirstAllocating"
	// FirstScheduling: whoever fits goes, in order.
	FirstScheduling QueuePolicy = "FirstScheduling"
)

// PriorityQueueSpec is how a project's queue works.
type PriorityQueueSpec struct {
	// policy: FirstAllocating or FirstScheduling. Who waits for their own limit
	// steps aside under both.
	// +kubebuilder:default=FirstAllocating
	// +optional
	Policy QueuePolicy `json:"policy,omitempty"`
	// priority among projects: those with more go first.
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Priority int32 `json:"priority,omitempty"`
	// patienceSeconds is how long, under FirstScheduling, a workload that finds no
	// room is passed by others before room is kept for it. 0 keeps it at once.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	// +optional
	PatienceSeconds *int32 `json:"patienceSeconds,omitempty"`
}

// PriorityQueueStatus is the queue's front.
type PriorityQueueStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// workloads and pods are how many wait.
	// +optional
	Workloads int32 `json:"workloads"`
	// +optional
	Pods int32 `json:"pods"`
	// front are the first workloads in order, at most 50.
	// +listType=atomic
	// +optional
	Front []QueueEntry `json:"front,omitempty"`
	// conditions: Ready, HeadBlocked.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// QueueEntry is one waiting workload.
type QueueEntry struct {
	Namespace string       `json:"namespace"`
	Kind      string       `json:"kind"`
	Name      string       `json:"name"`
	User      string       `json:"user"`
	Type      WorkloadType `json:"type"`
	// pods that wait, and what one of them asks for.
	Pods int32 `json:"pods"`
	// +optional
	Sets map[string]int32 `json:"sets,omitempty"`
	// gpu of all its waiting pods together, in GPU-equivalents.
	// +optional
	GPU *resource.Quantity `json:"gpu,omitempty"`
	// since is when its oldest waiting pod was made.
	Since metav1.Time `json:"since"`
	// promoted is true when an administrator moved it before all others.
	// +optional
	Promoted bool `json:"promoted,omitempty"`
	// reason is a typed word, message a sentence: why it waits.
	Reason string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
}
