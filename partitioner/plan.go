// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Plan is the layout of one node: which slices of the policy's sets exist there
// and which counters they share. sets are the sizes that hold in the cluster,
// as Divide gives them or ResourceSets record them. A set of the policy that is
// not among them has no slices yet, but its place in the layout; others are
// ignored.
//
// The slices of one set can all be held at once while no other set is: a place
// for which the node lacks CPU or memory is left out, so counts are honest.
// Across sets the counters say what can be held together.
//
// A counter's name is "group/amount"; what draws on the same piece of hardware
// has the same group. Groups are "gpu/KEY" with blocks, memory (where a block
// set gives its own), whole, mig-compute and mig-memory; "numaN" or "node" with
// cpu and memory for GPU sets; "numaN/spare" for CPU-only sets without perNode,
// and "numaN/aside/SET" for those with it.
//
// Slices share memory with each other; the layout is to be read only. A GPU whose
// rule cannot be carried out is absent from the layout's Modes: it
// is to be left as it is.
func Plan(node Node, spec api.PartitionPolicySpec, sets []Set) (gpu.Layout, Report) {
	parts, bad := partsOf(spec)
	parts = sized(parts, sets)
	p := planOn(newSurveyor(spec, parts).survey(node), parts)
	layout := p.layout()
	report := p.report(spec)
	report.Rejections = append(onNode(bad, node.Name), report.Rejections...)
	report.GPUs = p.explainGPUs(spec)
	return layout, report
}

// onNode names the node in rejections that hold anywhere.
func onNode(list []api.Rejection, node string) []api.Rejection {
	for i := range list {
		list[i].Node = node
	}
	return list
}

// sized gives parts the sizes of the sets of the same name. A part that has none
// keeps its place in the layout, so that the hardware is not cut anew when its
// ResourceSet comes later than others.
func sized(parts []part, sets []Set) []part {
	out := slices.Clone(parts)
	for k := range out {
		p := &out[k]
		i := slices.IndexFunc(sets, func(s Set) bool { return s.Name == p.name })
		if i < 0 {
			p.unsized = true
			continue
		}
		if kind, ok := kindOf(sets[i].GPU); !ok || kind != p.kind {
			p.unsized = true
			continue
		}
		p.gpu, p.sharing = sets[i].GPU, sets[i].Sharing
		p.size = amount{sets[i].CPUMilli, sets[i].MemoryBytes}.atLeastZero()
	}
	return out
}

// plan is one node with sizes: which seats are kept, what they take, and what
// is left for sets without a GPU.
type plan struct {
	*site
	parts []part
	kept  []*keptSeat // in the layout's order
	// lost counts the seats of each part that the node lacks CPU or memory for.
	lost []int
	// spare is what each zone has for CPU-only sets when GPU sets use the most.
	spare []amount
	loose []unit // CPU-only without perNode
}

// keptSeat is a seat with what a slice there takes of the zones.
type keptSeat struct {
	*seat
	draws []draw
}

// planOn keeps as many seats as the node has CPU and memory for.
func planOn(s *site, parts []part) *plan {
	p := &plan{site: s, parts: parts, lost: make([]int, len(parts))}
	for i := range parts {
		p.keep(i)
	}
	p.spare = p.spareRoom()
	for i, pt := range parts {
		if pt.kind == gpu.KindCPU && pt.perNode == 0 && !pt.unsized {
			p.fill(i)
		}
	}
	return p
}

// keep takes the seats of one set for as long as the zones have room for all of
// them.
func (p *plan) keep(part int) {
	size, seats := p.parts[part].size, p.seats[part]
	if p.parts[part].unsized {
		return
	}
	room, draws := slices.Clone(p.room), p.drawer(size)
	slab := make([]keptSeat, 0, len(seats))
	on := make([][]*keptSeat, len(p.cuts)) // by first GPU
	for i := range seats {
		k := keptSeat{&seats[i], draws(seats[i])}
		if size.cpu <= 0 || size.mem <= 0 || !takeDraws(room, k.draws) {
			p.lost[part]++
			continue
		}
		slab = append(slab, k)
		on[k.cuts[0]] = append(on[k.cuts[0]], &slab[len(slab)-1])
	}
	for _, list := range on {
		p.kept = append(p.kept, list...)
	}
}

// fill places as many of a CPU-only set as fit in the spare room.
func (p *plan) fill(part int) {
	room, size := slices.Clone(p.spare), p.parts[part].size
	for slot := range maxPerNode {
		draws, ok := takeUnit(room, p.gpus, size)
		if !ok {
			return
		}
		p.loose = append(p.loose, unit{part: part, slot: slot, draws: draws})
	}
}
