// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"fmt"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// surveyor looks at nodes under one policy. It works out once what is the same
// for many GPUs.
type surveyor struct {
	spec   api.PartitionPolicySpec
	parts  []part
	models []*migModel
	blocks map[int64]blockModel // by device memory
}

func newSurveyor(spec api.PartitionPolicySpec, parts []part) *surveyor {
	return &surveyor{spec: spec, parts: parts, blocks: map[int64]blockModel{}}
}

// site is one node as the policy cuts it: its zones, its GPUs, and every place
// where a slice can live, all independent of how large the sets are in CPU and
// memory, except for the CPU-only sets set aside.
type site struct {
	node  Node
	zones []zone
	// room is what each zone has for GPU sets, after the units set aside.
	room []amount
	// gpus is the number of GPUs of each zone that a set can use.
	gpus  []int
	aside []unit
	cuts  []cut // by GPU index
	// seats are the places of each part, in the order in which they are filled:
	// one on each GPU before the second on any.
	seats [][]seat
	// shares is each cut's part of its zone; zero where no set can use it.
	shares     []amount
	rejections []api.Rejection
}

// cut is one GPU and how it is cut.
type cut struct {
	gpu  gpu.GPU
	key  string // stands for the GPU in IDs and counters
	rule int    // index in spec.gpus, or noRule
	mode gpu.Mode
	zone int
	// refusal says why the rule cannot be carried out; the GPU is then left as
	// it is.
	refusal string
	// ownMemory is true where a block set gives its own device memory, so that
	// memory is counted apart from blocks.
	ownMemory bool
	model     *migModel // in MIG mode
}

// seat is a place where a slice of a set can live.
type seat struct {
	part int
	cuts []int // the GPUs, as indices of site.cuts
	// rank numbers the seats of one set on one GPU; slot is the number in its ID.
	rank, slot int
	// num/den is its part of the share of each of its GPUs.
	num, den int64
	target   *gpu.MIGTarget
	memory   int64 // device memory of a block
}

// unit is one CPU-only slice and what it takes of the zones.
type unit struct {
	part, slot int
	draws      []draw
}

// survey looks at one node.
func (sv *surveyor) survey(n Node) *site {
	n.GPUs = distinct(n.GPUs)
	s := &site{node: n, zones: zonesOf(n, sv.spec)}
	s.room = caps(s.zones)
	sv.cutGPUs(s)
	s.seats = make([][]seat, len(sv.parts))
	for i, p := range sv.parts {
		switch p.kind {
		case gpu.KindBlock:
			s.seats[i] = sv.seatBlocks(s, i)
		case gpu.KindMIG:
			s.seats[i] = sv.seatMIG(s, i)
		case gpu.KindWhole:
			s.seats[i] = sv.seatWhole(s, i)
		case gpu.KindCPU: // needs no GPU
		}
	}
	s.gpus = s.gpusByZone()
	sv.setAside(s)
	s.shares = sharesOf(s)
	return s
}

// distinct are the GPUs that can be told apart, in the driver's order.
func distinct(gpus []gpu.GPU) []gpu.GPU {
	seen := map[string]bool{"": true}
	var out []gpu.GPU
	for _, g := range gpus {
		if !seen[g.UUID] {
			seen[g.UUID] = true
			g.MemoryBytes = max(g.MemoryBytes, 0)
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b gpu.GPU) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// setAside takes the CPU-only sets that have perNode out of the room, all of a
// set or none.
func (sv *surveyor) setAside(s *site) {
	for i, p := range sv.parts {
		if p.kind != gpu.KindCPU || p.perNode == 0 {
			continue
		}
		room, units := slices.Clone(s.room), []unit(nil)
		for slot := range p.perNode {
			draws, ok := takeUnit(room, s.gpus, p.size)
			if !ok {
				break
			}
			units = append(units, unit{part: i, slot: slot, draws: draws})
		}
		if len(units) < p.perNode {
			s.rejectAside(p, len(units))
			continue
		}
		if p.unsized {
			units = nil // its room is kept
		}
		s.room, s.aside = room, append(s.aside, units...)
	}
}

// rejectAside notes that only so many of a set to be set aside fit.
func (s *site) rejectAside(p part, fit int) {
	if p.unsized {
		return
	}
	s.reject(p, api.ReasonSetDoesNotFit, fmt.Sprintf(
		"%s: %d × (cpu %s, memory %s) is more than node %s has left; at most %d fit, lower perNode, the set's size or spec.reserve",
		p.field("perNode"), p.perNode, cores(p.size.cpu), bytesOf(p.size.mem), s.node.Name, fit))
}

// sharesOf divides each zone evenly over those of its GPUs that have a seat.
func sharesOf(s *site) []amount {
	shares := make([]amount, len(s.cuts))
	for i, used := range s.usedCuts() {
		if z := s.cuts[i].zone; used {
			shares[i] = s.room[z].part(1, int64(s.gpus[z]))
		}
	}
	return shares
}

// gpusByZone counts the GPUs that have a seat.
func (s *site) gpusByZone() []int {
	n := make([]int, len(s.zones))
	for i, used := range s.usedCuts() {
		if used {
			n[s.cuts[i].zone]++
		}
	}
	return n
}

// usedCuts are the GPUs that have a seat of any set.
func (s *site) usedCuts() []bool {
	used := make([]bool, len(s.cuts))
	for _, list := range s.seats {
		for i := range list {
			if list[i].rank > 0 {
				break
			}
			for _, c := range list[i].cuts {
				used[c] = true
			}
		}
	}
	return used
}

// reject notes once that a set cannot be what the policy says on this node.
func (s *site) reject(p part, reason, message string) {
	r := api.Rejection{Set: p.name, Node: s.node.Name, Reason: reason, Message: message}
	if !slices.Contains(s.rejections, r) {
		s.rejections = append(s.rejections, r)
	}
}
