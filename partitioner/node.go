// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Node is what one node has to give.
type Node struct {
	Name string
	// CPUMilli and MemoryBytes are the node's allocatable CPU, in thousandths
	// of a core, and memory: what the kubelet does not reserve for itself.
	CPUMilli, MemoryBytes int64
	// NUMA are the host's NUMA nodes; empty when unknown.
	NUMA []NUMANode
	// GPUs are the node's GPUs. Those without UUID, or with the UUID of an
	// earlier one, are left out of every plan.
	GPUs []gpu.GPU
}

// NUMANode is one NUMA node of a host. Nodes without CPUs, such as device
// memory shown as a NUMA node, take no part in division.
type NUMANode struct {
	ID          int
	CPUs        int
	MemoryBytes int64
}

// Set is the size of one ResourceSet: what each pod that asks for it gets.
type Set struct {
	Name string
	// CPUMilli and MemoryBytes are the host's part.
	CPUMilli, MemoryBytes int64
	// GPU is the GPU part, nil for a CPU-only set.
	GPU *api.SetGPU
	// GPUUnits is its share of GPUs in 1/gpu.UnitsPerGPU of one, for quotas; it has
	// no part in layouts.
	GPUUnits int64
	// Sharing is for block sets; nil means to lend and to borrow.
	Sharing *api.Sharing
}

// SetOf reads a set's size from its ResourceSet.
func SetOf(name string, spec api.ResourceSetSpec) Set {
	return Set{
		Name:        name,
		CPUMilli:    spec.CPU.MilliValue(),
		MemoryBytes: spec.Memory.Value(),
		GPU:         spec.GPU,
		GPUUnits:    spec.GPUUnits,
		Sharing:     spec.Sharing,
	}
}

// Spec is the ResourceSet of the set, defined by the given policies.
func (s Set) Spec(policies ...string) api.ResourceSetSpec {
	return api.ResourceSetSpec{
		ResourceName: gpu.ResourceName(s.Name),
		CPU:          *resource.NewMilliQuantity(s.CPUMilli, resource.DecimalSI),
		Memory:       *resource.NewQuantity(s.MemoryBytes, resource.BinarySI),
		GPU:          s.GPU.DeepCopy(),
		GPUUnits:     s.GPUUnits,
		Sharing:      s.Sharing.DeepCopy(),
		Policies:     policies,
	}
}
