// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkspaceSnapshot asks the agent of a node to save a Workspace's container before
// a pause: to run its hook, and to commit its file system as an image. The
// controller makes and prunes them; its bytes count in StorageQuotas.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=wss,categories=aipub
// +kubebuilder:selectablefield:JSONPath=`.spec.node`
// +kubebuilder:printcolumn:name="Workspace",type=string,JSONPath=`.spec.workspace`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Bytes",type=integer,JSONPath=`.status.bytes`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.spec.node`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type WorkspaceSnapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot change"
	Spec WorkspaceSnapshotSpec `json:"spec"`
	// +optional
	Status WorkspaceSnapshotStatus `json:"status,omitempty"`
}

// WorkspaceSnapshotList is a list of WorkspaceSnapshots.
//
// +kubebuilder:object:root=true
type WorkspaceSnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkspaceSnapshot `json:"items"`
}

// SnapshotFinalizer keeps a WorkspaceSnapshot until its image is gone from its node.
const SnapshotFinalizer = "aipub.io/snapshot"

// WorkspaceSnapshotSpec is what is to be saved.
type WorkspaceSnapshotSpec struct {
	// workspace and its uid.
	Workspace    string `json:"workspace"`
	WorkspaceUID string `json:"workspaceUID"`
	// node whose agent saves it, and the container there.
	Node      string `json:"node"`
	Pod       string `json:"pod"`
	PodUID    string `json:"podUID"`
	Container string `json:"container"`
	// baseImage is the Workspace's spec.image. Each snapshot is one layer over it,
	// whatever was saved before.
	BaseImage string `json:"baseImage"`
	// hook runs first.
	// +optional
	Hook *WorkspaceHook `json:"hook,omitempty"`
	// commit is true where the file system is saved, too.
	// +optional
	Commit bool `json:"commit,omitempty"`
	// maxSize of what is saved, before compression.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0",message="maxSize must be 0 or more"
	// +optional
	MaxSize *resource.Quantity `json:"maxSize,omitempty"`
}

// SnapshotPhase is how far a snapshot is.
// +kubebuilder:validation:Enum=Pending;Saving;Saved;Failed
type SnapshotPhase string

// The phases of a snapshot.
const (
	SnapshotPending SnapshotPhase = "Pending"
	SnapshotSaving  SnapshotPhase = "Saving"
	SnapshotSaved   SnapshotPhase = "Saved"
	SnapshotFailed  SnapshotPhase = "Failed"
)

// Why a snapshot failed, beside ReasonNodeLost.
const (
	// ReasonHookFailed: beforePause ended with an error, or took too long.
	ReasonHookFailed = "HookFailed"
	// ReasonContainerGone: the container ended or was replaced.
	ReasonContainerGone = "ContainerGone"
	// ReasonTooLarge: the file system holds more than maxSize.
	ReasonTooLarge = "TooLarge"
	// ReasonDiskFull: the node has no room for it.
	ReasonDiskFull = "DiskFull"
	// ReasonRegistryFailed: the registry did not take it.
	ReasonRegistryFailed = "RegistryFailed"
	// ReasonRuntimeFailed: the container runtime did not do what was asked.
	ReasonRuntimeFailed = "RuntimeFailed"
	// ReasonNotSupported: this node's agent cannot save file systems.
	ReasonNotSupported = "NotSupported"
	// ReasonInterrupted: the agent ended meanwhile.
	ReasonInterrupted = "Interrupted"
)

// WorkspaceSnapshotStatus is written by the node's agent.
type WorkspaceSnapshotStatus struct {
	// +optional
	Phase SnapshotPhase `json:"phase,omitempty"`
	// step is Hook, Measure, Commit or Push.
	// +optional
	Step string `json:"step,omitempty"`
	// reason and message of a failure.
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// image to start from, by digest where a registry has it.
	// +optional
	Image string `json:"image,omitempty"`
	// onNode is true where only the node has the image.
	// +optional
	OnNode bool `json:"onNode,omitempty"`
	// bytes of the saved layer, compressed.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}
