// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workspace is a place to work in: one container with a set, a home that stays, and
// a name to reach it by. It can be paused, which frees its set and keeps its work.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ws,categories=aipub
// +kubebuilder:printcolumn:name="Set",type=string,JSONPath=`.spec.set`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.occupancy.expiresAt`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 40",optionalOldSelf=true,message="metadata.name has at most 40 characters: its pod and its volume get longer names"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !self.metadata.name.contains('.')",optionalOldSelf=true,message="metadata.name has no dots, since its pod is named by it; write - instead"
type Workspace struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec WorkspaceSpec `json:"spec"`
	// +optional
	Status WorkspaceStatus `json:"status,omitempty"`
}

// HomeFinalizer keeps a Workspace with a home until the controller has decided what
// becomes of that.
const HomeFinalizer = "aipub.io/home"

// WorkspaceList is a list of Workspaces.
//
// +kubebuilder:object:root=true
type WorkspaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Workspace `json:"items"`
}

// WorkspaceSpec is what runs, and whether it does. A change while it runs takes
// effect when it starts next.
//
// +kubebuilder:validation:XValidation:rule="has(self.home) == has(oldSelf.home)",message="home cannot be added or taken away; make a new Workspace"
// +kubebuilder:validation:XValidation:rule="!has(self.home) || !has(self.volumes) || self.volumes.all(v, v.path != self.home.path) || oldSelf.hasValue() && has(oldSelf.value().volumes) && oldSelf.value().volumes.exists(v, v.path == self.home.path)",optionalOldSelf=true,fieldPath=".volumes",messageExpression="'path ' + self.home.path + ' is that of home; give another'",message="a volume has the path of home; give another"
// +kubebuilder:validation:XValidation:rule="!has(self.sharedMemory) || (!has(self.home) || self.home.path != '/dev/shm') && (!has(self.volumes) || self.volumes.all(v, v.path != '/dev/shm')) || oldSelf.hasValue() && has(oldSelf.value().sharedMemory) && (has(oldSelf.value().home) && oldSelf.value().home.path == '/dev/shm' || has(oldSelf.value().volumes) && oldSelf.value().volumes.exists(v, v.path == '/dev/shm'))",optionalOldSelf=true,message="path /dev/shm is that of sharedMemory; give the volume another, or leave sharedMemory out"
type WorkspaceSpec struct {
	// set is the name of the set that it holds: small for aipub.io/set-small.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	Set string `json:"set"`
	// count is how many of the set.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Count int32 `json:"count,omitempty"`
	// image of the container.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// imagePullSecrets name Secrets of the namespace.
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +optional
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// command and args are those of a container; the image's own without them.
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// env is the container's environment.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	// +optional
	Env []WorkspaceEnv `json:"env,omitempty"`
	// ports are reached through a Service with the name of the Workspace.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(p, self.exists_one(q, q.port == p.port))",message="one port number stands there twice; give each number once"
	// +optional
	Ports []WorkspacePort `json:"ports,omitempty"`
	// home is a volume that stays for as long as the Workspace exists.
	// +optional
	Home *WorkspaceHome `json:"home,omitempty"`
	// volumes are further claims, which exist already.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(v, self.exists_one(u, u.path == v.path))",message="one path stands there twice; give each volume its own"
	// +optional
	Volumes []WorkspaceVolume `json:"volumes,omitempty"`
	// sharedMemory is the size of /dev/shm, for example for PyTorch's data loaders.
	// It counts within the memory of the set.
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0",message="sharedMemory must be 0 or more"
	// +optional
	SharedMemory *resource.Quantity `json:"sharedMemory,omitempty"`
	// runAsUser, runAsGroup and fsGroup are those of a pod's security context: the
	// user of the image, and the group that may write to home.
	// +kubebuilder:validation:Minimum=0
	// +optional
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	FSGroup *int64 `json:"fsGroup,omitempty"`
	// serviceAccountName of the pod; without it, it has no token of the cluster.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$')",message="this is no name that a ServiceAccount can have: give lower case letters, digits, - and dots, or leave it out"
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// stopSeconds is how long its processes have to end when it is paused.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	StopSeconds *int64 `json:"stopSeconds,omitempty"`
	// beforePause runs in the container before anything is saved, for example to
	// write a checkpoint.
	// +optional
	BeforePause *WorkspaceHook `json:"beforePause,omitempty"`
	// activity says how to see whether somebody works in it, beyond its GPU, CPU
	// and terminals.
	// +optional
	Activity *WorkspaceActivity `json:"activity,omitempty"`
	// save is what a pause keeps: Home (volumes), or Commit (the container's own
	// file system as well). Commit wins where a ReclaimPolicy says otherwise.
	// +kubebuilder:default=Home
	// +optional
	Save SaveMode `json:"save,omitempty"`
	// paused frees the set and keeps the work. Set it to false to resume.
	// +optional
	Paused bool `json:"paused,omitempty"`
}

// SaveMode is Home or Commit.
// +kubebuilder:validation:Enum=Home;Commit
type SaveMode string

// The values of SaveMode.
const (
	SaveHome   SaveMode = "Home"
	SaveCommit SaveMode = "Commit"
)

// WorkspacePhase is where a Workspace is in its life.
// +kubebuilder:validation:Enum=Queued;Starting;Running;Saving;Paused;Failed
type WorkspacePhase string

// The phases.
const (
	// PhaseQueued waits for its set.
	PhaseQueued WorkspacePhase = "Queued"
	// PhaseStarting has its set; the container is not ready yet.
	PhaseStarting WorkspacePhase = "Starting"
	PhaseRunning  WorkspacePhase = "Running"
	// PhaseSaving is about to be paused: its work is being saved. It holds its set.
	PhaseSaving WorkspacePhase = "Saving"
	// PhasePaused holds nothing but its volumes.
	PhasePaused WorkspacePhase = "Paused"
	// PhaseFailed cannot run as it is written; message says what to change.
	PhaseFailed WorkspacePhase = "Failed"
)

// WorkspaceStatus is what the controller says of it.
type WorkspaceStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// phase, since when, and why.
	// +optional
	Phase WorkspacePhase `json:"phase,omitempty"`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// node that it runs on.
	// +optional
	Node string `json:"node,omitempty"`
	// occupancy is how long it has held its set, and until when it may.
	// +optional
	Occupancy *Occupancy `json:"occupancy,omitempty"`
	// pause is the pause that was asked for or done last; it goes at resume.
	// +optional
	Pause *Pause `json:"pause,omitempty"`
	// saved is the container's file system as it was saved last.
	// +optional
	Saved *SavedState `json:"saved,omitempty"`
	// conditions: Ready, Saved, RestartNeeded.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SavedState is a saved file system.
type SavedState struct {
	// snapshot is the WorkspaceSnapshot, image what it is started from.
	Snapshot string `json:"snapshot"`
	Image    string `json:"image"`
	// baseImage is the spec.image that it was saved from; another one starts anew.
	BaseImage string `json:"baseImage"`
	// node that has it, where it is in no registry.
	// +optional
	Node string `json:"node,omitempty"`
	// bytes that it takes.
	Bytes int64       `json:"bytes"`
	At    metav1.Time `json:"at"`
}
