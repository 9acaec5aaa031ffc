// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PartitionPolicy says which nodes are divided, how each of their GPUs is cut,
// and which ResourceSets exist on them.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=pp,categories=aipub
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PartitionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the administrator wants.
	Spec PartitionPolicySpec `json:"spec"`
	// status is what came of it.
	// +optional
	Status PartitionPolicyStatus `json:"status,omitempty"`
}

// PartitionPolicyList is a list of policies.
//
// +kubebuilder:object:root=true
type PartitionPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PartitionPolicy `json:"items"`
}

// PartitionPolicySpec is the wanted division of a pool of nodes.
type PartitionPolicySpec struct {
	// nodeSelector chooses the nodes. An empty selector is refused, so that a
	// forgotten one does not divide the whole cluster.
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="nodeSelector must name at least one label; label the nodes, for example aipub.io/pool=h200, and select that"
	NodeSelector metav1.LabelSelector `json:"nodeSelector"`

	// reserve is kept out of the sets on every node, beyond what the kubelet
	// reserves itself: room for daemons and for pods that use no set.
	// +optional
	Reserve Reserve `json:"reserve,omitempty"`

	// numa says whether a set's CPU and memory must fit beside its GPU.
	// Aligned (the default) divides each NUMA node's share among the GPUs on
	// it; Ignore divides the node as one. It makes no difference on nodes with
	// one NUMA node or of unknown locality.
	// +kubebuilder:default=Aligned
	// +optional
	NUMA NUMAPolicy `json:"numa,omitempty"`

	// gpus says how each GPU is cut. The first rule that matches a GPU counts;
	// a GPU that none matches stays Whole.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	GPUs []GPURule `json:"gpus,omitempty"`

	// unattached says what is done about a process that uses the GPU of a block
	// slice without the limiter, or beyond the slice's memory: Warn, Evict its
	// pod, or Kill it. Default Warn.
	// +kubebuilder:default=Warn
	// +optional
	Unattached Unattached `json:"unattached,omitempty"`

	// memoryGraceSeconds is how long a container that is asked for device memory
	// that it borrowed (sharing.borrowMemory) has before its processes are ended,
	// if another one waits for memory of its own all the while. Default 30.
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	MemoryGraceSeconds *int32 `json:"memoryGraceSeconds,omitempty"`

	// sets are the ResourceSets of this pool.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	Sets []SetTemplate `json:"sets"`
}

// Unattached is Warn, Evict or Kill.
// +kubebuilder:validation:Enum=Warn;Evict;Kill
type Unattached string

// The values of Unattached.
const (
	UnattachedWarn  Unattached = "Warn"
	UnattachedEvict Unattached = "Evict"
	UnattachedKill  Unattached = "Kill"
)

// Reserve is an amount of CPU and memory.
type Reserve struct {
	// cpu, for example "4".
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory, for example 16Gi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// NUMAPolicy is Aligned or Ignore.
// +kubebuilder:validation:Enum=Aligned;Ignore
type NUMAPolicy string

// The values of NUMAPolicy.
const (
	NUMAAligned NUMAPolicy = "Aligned"
	NUMAIgnore  NUMAPolicy = "Ignore"
)

// GPUMode is Whole, MIG or Block.
// +kubebuilder:validation:Enum=Whole;MIG;Block
type GPUMode string

// The values of GPUMode.
const (
	GPUWhole GPUMode = "Whole"
	GPUMIG   GPUMode = "MIG"
	GPUBlock GPUMode = "Block"
)

// GPURule gives a mode to the GPUs that it matches. Fields that are set must
// all match; a rule with none of them matches every GPU.
//
// +kubebuilder:validation:XValidation:rule="!has(self.layout) || self.mode == 'MIG'",message="layout belongs to mode MIG; remove it or set mode: MIG"
type GPURule struct {
	// indices are GPU indices as nvidia-smi shows them, from 0.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=63
	// +listType=set
	// +optional
	Indices []int32 `json:"indices,omitempty"`
	// models are product names as nvidia-smi shows them, for example
	// "NVIDIA H200". Upper and lower case are the same.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=96
	// +listType=set
	// +optional
	Models []string `json:"models,omitempty"`
	// uuids are GPU UUIDs, "GPU-…".
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Pattern=`^GPU-[0-9a-f-]+$`
	// +listType=set
	// +optional
	UUIDs []string `json:"uuids,omitempty"`
	// mode is how a matching GPU is cut: Whole, MIG or Block.
	Mode GPUMode `json:"mode"`
	// layout fixes how many slices of each set a MIG GPU is cut into. Without
	// it, the GPU is filled with as even a mixture of the policy's MIG sets as
	// its placements allow.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=set
	// +optional
	Layout []SetCount `json:"layout,omitempty"`
}

// SetCount is a number of slices of one set.
type SetCount struct {
	// set names one of the policy's sets.
	// +kubebuilder:validation:MaxLength=40
	Set string `json:"set"`
	// count is how many, at least 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	Count int32 `json:"count"`
}

// SetTemplate defines one ResourceSet. CPU and memory are computed by even
// division where they are not given.
//
// +kubebuilder:validation:XValidation:rule="has(self.gpu) || (has(self.cpu) && has(self.memory))",message="a set without gpu must give both cpu and memory"
// +kubebuilder:validation:XValidation:rule="!has(self.perNode) || !has(self.gpu)",message="perNode belongs to sets without gpu; the number of GPU sets follows from the GPUs"
// +kubebuilder:validation:XValidation:rule="!has(self.sharing) || (has(self.gpu) && has(self.gpu.blockPercent))",message="sharing belongs to block sets; give gpu.blockPercent or remove sharing"
type SetTemplate struct {
	// name makes the resource aipub.io/set-NAME. Lower-case letters, digits
	// and '-', at most 40 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// cpu of one set. Without it, the node's CPU is divided evenly.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// memory of one set. Without it, the node's memory is divided evenly.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// gpu is the GPU part; a set without it is CPU-only.
	// +optional
	GPU *SetGPU `json:"gpu,omitempty"`
	// perNode is how many of a CPU-only set each node offers, set aside before
	// the GPU sets are divided. Without it, as many as fit in what the GPU sets
	// leave.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	PerNode *int32 `json:"perNode,omitempty"`
	// sharing says what may be lent and borrowed; block sets only.
	// +optional
	Sharing *Sharing `json:"sharing,omitempty"`
}

// SetGPU is the GPU part of a set: exactly one of count, blockPercent and mig.
//
// +kubebuilder:validation:XValidation:rule="(has(self.count) ? 1 : 0) + (has(self.blockPercent) ? 1 : 0) + (has(self.mig) ? 1 : 0) == 1",message="give exactly one of count, blockPercent and mig"
// +kubebuilder:validation:XValidation:rule="!has(self.memory) || has(self.blockPercent)",message="memory belongs to blockPercent; for a MIG instance use mig.memory"
type SetGPU struct {
	// count is a number of whole GPUs, 1 to 16.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	// +optional
	Count *int32 `json:"count,omitempty"`
	// blockPercent is the share of one GPU, 1 to 100.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	BlockPercent *int32 `json:"blockPercent,omitempty"`
	// memory is the device memory of a block slice; without it, memory follows
	// blockPercent.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// mig is the size of a MIG instance.
	// +optional
	MIG *MIGSize `json:"mig,omitempty"`
}

// MIGSize names a MIG instance by its size, since profile names drift between
// driver versions.
type MIGSize struct {
	// computeSlices of the instance: 1, 2, 3, 4, 6, 7 or 8, as the GPU offers.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=8
	ComputeSlices int32 `json:"computeSlices"`
	// memory of the instance, within 15 percent of what the GPU offers, for
	// example 18Gi for 1g.18gb; the nearest counts. Without it, the smallest
	// instance with these compute slices.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// mediaExtensions asks for the one instance per GPU with video engines (+me).
	// +optional
	MediaExtensions bool `json:"mediaExtensions,omitempty"`
}

// Sharing says whether a block slice's idle part is lent, and whether its holder
// may use what others leave idle.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxMemory) || (has(self.borrowMemory) && self.borrowMemory)",message="maxMemory belongs to borrowMemory: true"
type Sharing struct {
	// lend what is idle to others. Default true.
	// +kubebuilder:default=true
	// +optional
	Lend *bool `json:"lend,omitempty"`
	// borrow what others leave idle. Default true.
	// +kubebuilder:default=true
	// +optional
	Borrow *bool `json:"borrow,omitempty"`
	// maxPercent is the most of a GPU's compute that the holder may use with
	// what it borrows. Default 100.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxPercent *int32 `json:"maxPercent,omitempty"`
	// borrowMemory lets the holder allocate device memory beyond its own while
	// nobody else needs it. It is taken back step by step when somebody does:
	// allocations are refused, pools trimmed, managed memory moved to the host,
	// then the holder's processes are checkpointed, and at last ended. Default
	// false.
	// +optional
	BorrowMemory *bool `json:"borrowMemory,omitempty"`
	// maxMemory is the most device memory that the holder may have with what it
	// borrows. Default the GPU's memory.
	// +optional
	MaxMemory *resource.Quantity `json:"maxMemory,omitempty"`
}

// PartitionPolicyStatus is what came of a policy.
type PartitionPolicyStatus struct {
	// observedGeneration is the generation that the rest of the status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// nodes is how many nodes the selector matches.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// rejections say which sets could not be placed where, and why.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Rejections []Rejection `json:"rejections,omitempty"`
	// conditions: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Rejection is one set that a node cannot hold as the policy says.
type Rejection struct {
	// set is the refused set; empty when the whole node is refused.
	// +optional
	Set string `json:"set,omitempty"`
	// node is where.
	// +optional
	Node string `json:"node,omitempty"`
	// reason is a typed word, such as SetDoesNotFit.
	Reason string `json:"reason"`
	// message names the field, the value, what is allowed, and what to do.
	Message string `json:"message"`
}
