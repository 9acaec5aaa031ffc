// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePartition is the state of one node, named like it and written by its
// agent: every GPU, its slices, who holds each, and how healthy it is.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=np,categories=aipub
// +kubebuilder:printcolumn:name="Policy",type=string,JSONPath=`.status.policy`
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=`.status.gpuCount`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
type NodePartition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is all there is: a node's partition is observed, not wished for.
	// +optional
	Status NodePartitionStatus `json:"status,omitempty"`
}

// NodePartitionList is a list of node states.
//
// +kubebuilder:object:root=true
type NodePartitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePartition `json:"items"`
}

// NodePartitionStatus is the observed state of a node.
type NodePartitionStatus struct {
	// policy is the PartitionPolicy in force, with its generation.
	// +optional
	Policy string `json:"policy,omitempty"`
	// +optional
	PolicyGeneration int64 `json:"policyGeneration,omitempty"`
	// driverVersion of the GPU driver.
	// +optional
	DriverVersion string `json:"driverVersion,omitempty"`
	// agentVersion of the node agent that wrote this.
	// +optional
	AgentVersion string `json:"agentVersion,omitempty"`
	// bootID tells one boot of the node from the next.
	// +optional
	BootID string `json:"bootID,omitempty"`
	// numa are the host's NUMA nodes.
	// +listType=map
	// +listMapKey=id
	// +optional
	NUMA []NUMANode `json:"numa,omitempty"`
	// gpuCount is the number of GPUs.
	// +optional
	GPUCount int32 `json:"gpuCount"`
	// models describe each kind of GPU of the node once.
	// +listType=map
	// +listMapKey=name
	// +optional
	Models []GPUModel `json:"models,omitempty"`
	// gpus are the node's GPUs.
	// +listType=map
	// +listMapKey=uuid
	// +optional
	GPUs []NodeGPU `json:"gpus,omitempty"`
	// counters are what slices share, and how much of each there is: the blocks and
	// the device memory of a GPU, whole GPUs, CPU and memory. Slices overlap when
	// together they exceed one. Units are the counter's own.
	// +optional
	Counters map[string]int64 `json:"counters,omitempty"`
	// slices are everything that can be handed out, and by whom it is held.
	// +listType=map
	// +listMapKey=id
	// +optional
	Slices []NodeSlice `json:"slices,omitempty"`
	// sets count the slices of each set.
	// +listType=map
	// +listMapKey=name
	// +optional
	Sets []SetOnNode `json:"sets,omitempty"`
	// remainder is what even division could not hand out.
	// +optional
	Remainder Reserve `json:"remainder,omitempty"`
	// rejections say which of the policy's sets this node cannot hold, and why.
	// +listType=atomic
	// +optional
	Rejections []Rejection `json:"rejections,omitempty"`
	// conditions: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NUMANode is one NUMA node of the host.
type NUMANode struct {
	// id as the kernel numbers it.
	ID int32 `json:"id"`
	// cpus is the number of logical CPUs.
	CPUs int32 `json:"cpus"`
	// memory of the node.
	Memory resource.Quantity `json:"memory"`
}

// GPUModel describes one product.
type GPUModel struct {
	// name is the product name.
	Name string `json:"name"`
	// memory is the device memory.
	Memory resource.Quantity `json:"memory"`
	// migLiveToggle is true where MIG mode changes without a GPU reset.
	// +optional
	MIGLiveToggle bool `json:"migLiveToggle,omitempty"`
	// migProfiles are the instance profiles that the driver offers; none for a
	// product without MIG.
	// +listType=atomic
	// +optional
	MIGProfiles []MIGProfile `json:"migProfiles,omitempty"`
}

// MIGProfile is one MIG instance profile, as the driver reports it.
type MIGProfile struct {
	// enum is the NVML profile constant, id the driver's own number.
	Enum int32 `json:"enum"`
	ID   int32 `json:"id"`
	// name for people; it can differ between drivers.
	Name string `json:"name"`
	// computeSlices, memorySlices and multiprocessors of one instance.
	ComputeSlices   int32 `json:"computeSlices"`
	MemorySlices    int32 `json:"memorySlices"`
	Multiprocessors int32 `json:"multiprocessors"`
	// memory of one instance.
	Memory resource.Quantity `json:"memory"`
	// maxCount per GPU.
	MaxCount int32 `json:"maxCount"`
	// mediaExtensions is true for a +me profile.
	// +optional
	MediaExtensions bool `json:"mediaExtensions,omitempty"`
	// starts are the first memory slices of the legal placements; each is as
	// long as size.
	// +listType=atomic
	// +optional
	Starts []int32 `json:"starts,omitempty"`
	// size is the length of a placement in memory slices.
	Size int32 `json:"size"`
}

// NodeGPU is one GPU of a node.
type NodeGPU struct {
	// index as nvidia-smi shows it.
	Index int32 `json:"index"`
	// uuid of the board.
	UUID string `json:"uuid"`
	// minor is the number of /dev/nvidiaN.
	Minor int32 `json:"minor"`
	// model is the name of an entry in models.
	Model string `json:"model"`
	// pciBusID of the board.
	// +optional
	PCIBusID string `json:"pciBusID,omitempty"`
	// numaNode that it is attached to; absent when unknown.
	// +optional
	NUMANode *int32 `json:"numaNode,omitempty"`
	// mode in which the policy uses it.
	// +optional
	Mode GPUMode `json:"mode,omitempty"`
	// migEnabled is the mode of the hardware now, migPending after a reset.
	// +optional
	MIGEnabled bool `json:"migEnabled,omitempty"`
	// +optional
	MIGPending bool `json:"migPending,omitempty"`
	// health of the board.
	Health Health `json:"health"`
	// fences are what keeps block slices of this GPU within their share, the
	// outermost first: CgroupMemory (the kernel, per container), MPS (the driver's
	// service), Limiter (the library in each process).
	// +listType=atomic
	// +optional
	Fences []Fence `json:"fences,omitempty"`
}

// Fence is CgroupMemory, MPS or Limiter.
// +kubebuilder:validation:Enum=CgroupMemory;MPS;Limiter
type Fence string

// The values of Fence.
const (
	FenceCgroupMemory Fence = "CgroupMemory"
	FenceMPS          Fence = "MPS"
	FenceLimiter      Fence = "Limiter"
)

// Health is the fitness of a piece of hardware.
type Health struct {
	// ok is false while it must not be handed out.
	OK bool `json:"ok"`
	// reason is a typed word, such as XidCritical.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// SliceState is the state of a slice: Free, Held, Blocked, Unhealthy, Preparing
// or Retired.
// +kubebuilder:validation:Enum=Free;Held;Blocked;Unhealthy;Preparing;Retired
type SliceState string

// NodeSlice is one slice of a node.
type NodeSlice struct {
	// id is the stable name of the slice on its node.
	ID string `json:"id"`
	// set that it belongs to.
	Set string `json:"set"`
	// gpus are the UUIDs that it lives on.
	// +listType=atomic
	// +optional
	GPUs []string `json:"gpus,omitempty"`
	// blockPercent and blockMemory of a block slice.
	// +optional
	BlockPercent int32 `json:"blockPercent,omitempty"`
	// +optional
	BlockMemory *resource.Quantity `json:"blockMemory,omitempty"`
	// mig describes a MIG slice.
	// +optional
	MIG *NodeMIG `json:"mig,omitempty"`
	// state: Free, Held, Blocked, Unhealthy, Preparing or Retired.
	State SliceState `json:"state"`
	// reason and message explain a state other than Free and Held.
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// holder is the container that has it.
	// +optional
	Holder *Holder `json:"holder,omitempty"`
	// uses are what it takes from the node's counters while it is held.
	// +optional
	Uses map[string]int64 `json:"uses,omitempty"`
	// since is when it entered its state.
	Since metav1.Time `json:"since"`
	// share is what a held block slice was used for lately. It is written now and
	// then; "kubectl aipub top" shows it as it changes.
	// +optional
	Share *SliceShare `json:"share,omitempty"`
	// activity says when a held slice's container last worked, as far as its node
	// saw it.
	// +optional
	Activity *SliceActivity `json:"activity,omitempty"`
}

// SliceActivity is what a node saw of a container's work. Times are those of the
// node's clock, to the minute; an absent one means: not since the time in since.
type SliceActivity struct {
	// since is when the node began to look; it has looked without a gap from then
	// until the time in at.
	Since metav1.Time `json:"since"`
	At    metav1.Time `json:"at"`
	// gpuAt is when it last used its GPU, cpuAt its CPU, beyond what the agent was
	// told to call idle.
	// +optional
	GPUAt *metav1.Time `json:"gpuAt,omitempty"`
	// +optional
	CPUAt *metav1.Time `json:"cpuAt,omitempty"`
	// terminalAt is when a terminal in it last had input or output.
	// +optional
	TerminalAt *metav1.Time `json:"terminalAt,omitempty"`
	// unknown names what cannot be seen on this node: gpu, cpu or terminal.
	// +listType=atomic
	// +optional
	Unknown []string `json:"unknown,omitempty"`
}

// SliceShare is the recent use of a block slice. Percents are of the GPU's time,
// averaged over the last minute; the guarantee is the slice's blockPercent.
type SliceShare struct {
	// usedPercent is the time that the slice had the GPU.
	UsedPercent int32 `json:"usedPercent"`
	// lentPercent is the part of its guarantee that others used, borrowedPercent
	// what it used beyond its guarantee.
	LentPercent     int32 `json:"lentPercent"`
	BorrowedPercent int32 `json:"borrowedPercent"`
	// waitingPercent is the time that its work waited for the GPU.
	WaitingPercent int32 `json:"waitingPercent"`
	// memory is the device memory that its processes have.
	Memory resource.Quantity `json:"memory"`
	// processes is how many processes have the limiter attached.
	Processes int32 `json:"processes"`
	// findings are what is wrong: processes that use the GPU without the limiter,
	// or more memory than the slice has.
	// +listType=atomic
	// +optional
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is a process that is not within what its slice allows.
type Finding struct {
	// reason is a typed word, such as NotAttached or OverMemory.
	Reason string `json:"reason"`
	// pid is the process's number on the host.
	PID int32 `json:"pid"`
	// message is a sentence for people.
	Message string `json:"message"`
	// since is when it was first seen.
	Since metav1.Time `json:"since"`
}

// NodeMIG is the MIG instance of a slice.
type NodeMIG struct {
	// profile is the driver's name for the size.
	Profile string `json:"profile"`
	// start and size of the placement in memory slices.
	Start int32 `json:"start"`
	Size  int32 `json:"size"`
	// uuid, gpuInstance and computeInstance exist once the hardware does.
	// +optional
	UUID string `json:"uuid,omitempty"`
	// +optional
	GPUInstance *int32 `json:"gpuInstance,omitempty"`
	// +optional
	ComputeInstance *int32 `json:"computeInstance,omitempty"`
}

// Holder is a container that holds a slice.
type Holder struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// +optional
	Container string `json:"container,omitempty"`
}
