// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// generator makes policies and nodes that a user could have, at random.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 1))} }

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, list ...T) T { return list[g.IntN(len(list))] }

// node has 1 to 4 NUMA nodes (or does not say), and up to 16 GPUs of up to two
// models, not always spread evenly.
func (g generator) node(name string) Node {
	domains := pick(g, 1, 2, 2, 4)
	n := Node{Name: name}
	for id := range domains {
		nn := NUMANode{ID: id, CPUs: 8 * (1 + g.IntN(12)), MemoryBytes: int64(64+g.IntN(960)) * gibibyte}
		n.CPUMilli += int64(nn.CPUs) * milliCore
		n.MemoryBytes += nn.MemoryBytes
		n.NUMA = append(n.NUMA, nn)
	}
	n.CPUMilli -= int64(g.IntN(500))
	n.MemoryBytes -= g.Int64N(gibibyte)
	known := g.chance(85)
	models := []gpu.GPU{h200(0, 0), a30GPU(), l4()}
	for i := range g.IntN(17) {
		m := models[g.IntN(2)]
		if g.chance(10) {
			m = models[2]
		}
		m.Index, m.Minor = i, i
		m.UUID = fmt.Sprintf("GPU-%08x-%d", g.Uint32(), i)
		m.PCIBusID = fmt.Sprintf("00000000:%02X:00.0", 16+i)
		m.NUMANode = gpu.NUMAUnknown
		if known {
			m.NUMANode = g.IntN(domains)
		}
		n.GPUs = append(n.GPUs, m)
	}
	return n
}

func a30GPU() gpu.GPU {
	return gpu.GPU{Model: "NVIDIA A30", MemoryBytes: 24 * gibibyte, MIG: &gpu.MIG{Profiles: a30()}}
}

func l4() gpu.GPU { return gpu.GPU{Model: "NVIDIA L4", MemoryBytes: 23 * gibibyte} }

// policy has random rules and sets. Sets with a size of their own only if own.
func (g generator) policy(own bool) api.PartitionPolicySpec {
	spec := policy(g.rules())
	spec.NUMA = pick(g, api.NUMAAligned, api.NUMAAligned, api.NUMAIgnore)
	if g.chance(50) {
		spec.Reserve = api.Reserve{CPU: quantity("2"), Memory: quantity("8Gi")}
	}
	for i := range 1 + g.IntN(7) {
		t := g.set(fmt.Sprintf("s%d", i))
		if own && t.GPU != nil && g.chance(40) {
			t.CPU = resource.NewMilliQuantity(int64(1+g.IntN(40))*milliCore, resource.DecimalSI)
		}
		if own && t.GPU != nil && g.chance(40) {
			t.Memory = resource.NewQuantity(int64(1+g.IntN(300))*gibibyte, resource.BinarySI)
		}
		spec.Sets = append(spec.Sets, t)
	}
	return spec
}

func (g generator) rules() []api.GPURule {
	var rules []api.GPURule
	for range g.IntN(4) {
		r := api.GPURule{Mode: pick(g, api.GPUWhole, api.GPUMIG, api.GPUBlock)}
		if g.chance(70) {
			for i := range int32(16) {
				if g.chance(40) {
					r.Indices = append(r.Indices, i)
				}
			}
		}
		if g.chance(30) {
			r.Models = []string{pick(g, "NVIDIA H200", "nvidia a30")}
		}
		if r.Mode == api.GPUMIG && g.chance(30) {
			r.Layout = []api.SetCount{{Set: fmt.Sprintf("s%d", g.IntN(7)), Count: int32(1 + g.IntN(4))}}
		}
		rules = append(rules, r)
	}
	return rules
}

func (g generator) set(name string) api.SetTemplate {
	switch g.IntN(8) {
	case 0:
		return cpuSet(name, fmt.Sprint(1+g.IntN(4)), fmt.Sprintf("%dGi", 1+g.IntN(8)), int32(g.IntN(5)))
	case 1, 2:
		return wholeSet(name, pick[int32](g, 1, 1, 2, 3, 4, 8))
	case 3, 4:
		p := pick(g, append(sevenOfEight(16.5), a30()...)...)
		t := setFor(p)
		t.Name = name
		if g.chance(30) {
			t.GPU.MIG.Memory = nil
		}
		return t
	}
	t := blockSet(name, int32(5+g.IntN(96)))
	if g.chance(25) {
		t.GPU.Memory = resource.NewQuantity(int64(1+g.IntN(40))*gibibyte, resource.BinarySI)
	}
	return t
}
