// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// The tables stand for what a driver reports; product code never sees them.

// profile makes a profile whose placements start at the given slices.
func profile(enum, id int, name string, compute, size, most int, gib float64, starts ...int) gpu.Profile {
	p := gpu.Profile{Enum: enum, ID: id, Name: name, ComputeSlices: compute, MemorySlices: size,
		MemoryBytes: int64(gib * float64(gibibyte)), MaxCount: most}
	for _, s := range starts {
		p.Placements = append(p.Placements, gpu.Placement{Start: s, Size: size})
	}
	return p
}

func media(p gpu.Profile) gpu.Profile {
	p.MediaExtensions, p.MaxCount = true, 1
	return p
}

// sevenOfEight are the profiles of a GPU with 7 compute and 8 memory slices of
// the given usable GiB; the double-memory profile is among them.
func sevenOfEight(gib float64) []gpu.Profile {
	return []gpu.Profile{
		profile(0, 19, "1g", 1, 1, 7, gib, 0, 1, 2, 3, 4, 5, 6),
		media(profile(7, 20, "1g+me", 1, 1, 1, gib, 0, 1, 2, 3, 4, 5, 6)),
		profile(9, 15, "1g-double", 1, 2, 4, 2*gib, 0, 2, 4, 6),
		profile(1, 14, "2g", 2, 2, 3, 2*gib, 0, 2, 4),
		profile(2, 9, "3g", 3, 4, 2, 4*gib, 0, 4),
		profile(3, 5, "4g", 4, 4, 1, 4*gib, 0),
		profile(4, 0, "7g", 7, 8, 1, 8*gib, 0),
	}
}

// a30 are the profiles of a GPU with 4 compute and 4 memory slices.
func a30() []gpu.Profile {
	return []gpu.Profile{
		profile(0, 14, "1g.6gb", 1, 1, 4, 5.81, 0, 1, 2, 3),
		media(profile(7, 21, "1g.6gb+me", 1, 1, 1, 5.81, 0, 1, 2, 3)),
		profile(1, 5, "2g.12gb", 2, 2, 2, 11.69, 0, 2),
		profile(3, 0, "4g.24gb", 4, 4, 1, 23.5, 0),
	}
}

// h200 is a GPU as node-local index i, on the given NUMA node.
func h200(i, numa int) gpu.GPU {
	return gpu.GPU{
		Index: i, Minor: i, UUID: fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i),
		Model: "NVIDIA H200", MemoryBytes: 141 * gibibyte, NUMANode: numa,
		PCIBusID: fmt.Sprintf("00000000:%02X:00.0", 16+i),
		MIG:      &gpu.MIG{LiveToggle: true, Profiles: sevenOfEight(16.5)},
	}
}

// h200s are n of them on nodes 0 and 1 by halves, or of unknown place.
func h200s(n int, numa bool) []gpu.GPU {
	var gpus []gpu.GPU
	for i := range n {
		at := gpu.NUMAUnknown
		if numa {
			at = i * 2 / n
		}
		gpus = append(gpus, h200(i, at))
	}
	return gpus
}

// box is a node with the given cores and GiB, in two NUMA nodes if numa.
func box(name string, cores, gib int, gpus []gpu.GPU, numa bool) Node {
	n := Node{Name: name, CPUMilli: int64(cores) * milliCore, MemoryBytes: int64(gib) * gibibyte, GPUs: gpus}
	if numa {
		for id := range 2 {
			n.NUMA = append(n.NUMA, NUMANode{ID: id, CPUs: (cores + 1) / 2, MemoryBytes: int64(gib) * gibibyte / 2})
		}
	}
	return n
}

func ptr[T any](v T) *T { return &v }

func quantity(s string) *resource.Quantity { return ptr(resource.MustParse(s)) }

// Set templates.

func blockSet(name string, percent int32) api.SetTemplate {
	return api.SetTemplate{Name: name, GPU: &api.SetGPU{BlockPercent: &percent}}
}

func wholeSet(name string, count int32) api.SetTemplate {
	return api.SetTemplate{Name: name, GPU: &api.SetGPU{Count: &count}}
}

func migSet(name string, compute int32, memory string) api.SetTemplate {
	size := &api.MIGSize{ComputeSlices: compute}
	if memory != "" {
		size.Memory = quantity(memory)
	}
	return api.SetTemplate{Name: name, GPU: &api.SetGPU{MIG: size}}
}

func cpuSet(name, cpu, memory string, perNode int32) api.SetTemplate {
	t := api.SetTemplate{Name: name, CPU: quantity(cpu), Memory: quantity(memory)}
	if perNode > 0 {
		t.PerNode = &perNode
	}
	return t
}

// with gives a template its own cpu and memory.
func with(t api.SetTemplate, cpu, memory string) api.SetTemplate {
	if cpu != "" {
		t.CPU = quantity(cpu)
	}
	if memory != "" {
		t.Memory = quantity(memory)
	}
	return t
}

func policy(rules []api.GPURule, sets ...api.SetTemplate) api.PartitionPolicySpec {
	return api.PartitionPolicySpec{
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"aipub.io/pool": "h200"}},
		GPUs:         rules, Sets: sets,
	}
}

// example is the policy of the README: one GPU by block, one by MIG, one whole.
func example() api.PartitionPolicySpec {
	spec := policy(
		[]api.GPURule{
			{Indices: []int32{0}, Mode: api.GPUBlock},
			{Models: []string{"nvidia h200"}, Indices: []int32{1}, Mode: api.GPUMIG},
			{Mode: api.GPUWhole},
		},
		blockSet("small", 25), blockSet("medium", 50), migSet("mig-small", 1, "18Gi"), wholeSet("large", 1),
		cpuSet("cpu", "2", "8Gi", 0),
	)
	spec.Reserve = api.Reserve{CPU: quantity("4"), Memory: quantity("16Gi")}
	return spec
}

// planned divides one node and plans it.
func planned(t testing.TB, n Node, spec api.PartitionPolicySpec) (gpu.Layout, Report) {
	t.Helper()
	return Plan(n, spec, Divide(spec, []Node{n}).Sets)
}

// countsOf counts the slices of each set.
func countsOf(l gpu.Layout) map[string]int {
	n := map[string]int{}
	for _, s := range l.Slices {
		n[s.Set]++
	}
	return n
}
