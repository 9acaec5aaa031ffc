// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// blockModel is what the policy's block sets are on a GPU with a given memory.
type blockModel struct {
	items     map[int]blockItem // by part; only those that fit
	reach     int               // percent that the fullest mixture uses
	ownMemory bool
}

// cutGPUs gives each GPU its mode.
func (sv *surveyor) cutGPUs(s *site) {
	uuids := make([]string, len(s.node.GPUs))
	for i, g := range s.node.GPUs {
		uuids[i] = g.UUID
	}
	keys := keysOf(uuids, keyWidth)
	s.cuts = make([]cut, len(s.node.GPUs))
	for i, g := range s.node.GPUs {
		mode, rule := ModeOf(sv.spec, g)
		c := cut{gpu: g, key: keys[i], rule: rule, mode: mode, zone: zoneOf(s.zones, g)}
		switch mode {
		case gpu.ModeMIG:
			sv.cutMIG(&c)
		case gpu.ModeBlock:
			c.ownMemory = sv.blockModel(g.MemoryBytes).ownMemory
		case gpu.ModeWhole:
		}
		if c.refusal != "" {
			s.reject(part{}, api.ReasonLayoutDoesNotFit, c.refusal)
		}
		s.cuts[i] = c
	}
}

// cutMIG finds the GPU's MIG model and whether the rule can be carried out.
func (sv *surveyor) cutMIG(c *cut) {
	rule := fmt.Sprintf("spec.gpus[%d].mode", c.rule)
	if c.gpu.MIG == nil || len(c.gpu.MIG.Profiles) == 0 {
		c.refusal = fmt.Sprintf("%s: MIG, but %s has no MIG; use Whole or Block for it", rule, c.gpu.Model)
		return
	}
	c.model = sv.migModel(c.gpu.MIG.Profiles)
	if len(c.model.options) == 0 {
		c.refusal = fmt.Sprintf("%s: MIG, but none of the policy's MIG sets is a size that %s offers; it offers %s",
			rule, c.gpu.Model, offered(c.model.profiles))
		return
	}
	c.refusal = c.model.layout(sv.spec, c.rule, sv.parts).refusal
}

func (sv *surveyor) migModel(profiles []gpu.Profile) *migModel {
	for _, m := range sv.models {
		if sameProfiles(m.profiles, profiles) {
			return m
		}
	}
	m := newMIGModel(profiles, sv.parts)
	sv.models = append(sv.models, m)
	return m
}

func (sv *surveyor) blockModel(memory int64) blockModel {
	if m, ok := sv.blocks[memory]; ok {
		return m
	}
	m := blockModel{items: map[int]blockItem{}}
	var all []blockItem
	for i, p := range sv.parts {
		if p.kind != gpu.KindBlock {
			continue
		}
		it := blockItem{percent: int(*p.gpu.BlockPercent), amount: p.size}
		it.memory = roundDeviceMemory(mulDiv(max(memory, 0), int64(it.percent), gpu.BlocksPerGPU))
		if q := p.gpu.Memory; q != nil {
			it.memory, m.ownMemory = q.Value(), true
		}
		if it.fitsOn(memory) > 0 {
			m.items[i] = it
			all = append(all, it)
		}
	}
	m.reach = fullestBlocks(all, memory)
	sv.blocks[memory] = m
	return m
}

// roundDeviceMemory rounds a block's memory down to whole MiB.
func roundDeviceMemory(bytes int64) int64 { return bytes - bytes%mebibyte }

// seatBlocks are the places of a block set: the first on each GPU, then the
// second on each, and so on.
func (sv *surveyor) seatBlocks(s *site, part int) []seat {
	var seats []seat
	var at [][]int
	var items []blockItem
	var most, total int
	for ci, c := range s.cuts {
		if c.mode != gpu.ModeBlock {
			continue
		}
		if it, ok := sv.blockModel(c.gpu.MemoryBytes).items[part]; ok {
			at, items = append(at, []int{ci}), append(items, it)
			n := it.fitsOn(c.gpu.MemoryBytes)
			most, total = max(most, n), total+n
		}
	}
	seats = make([]seat, 0, total)
	for slot := range most {
		for k, it := range items {
			g := s.cuts[at[k][0]].gpu
			if slot < it.fitsOn(g.MemoryBytes) {
				seats = append(seats, seat{part: part, cuts: at[k], rank: slot, slot: slot,
					num: int64(it.percent), den: int64(sv.blockModel(g.MemoryBytes).reach), memory: it.memory})
			}
		}
	}
	return seats
}

// seatMIG are the places of a MIG set, in the same order.
func (sv *surveyor) seatMIG(s *site, part int) []seat {
	var seats []seat
	for ci, c := range s.cuts {
		if c.mode != gpu.ModeMIG || c.refusal != "" {
			continue
		}
		at, rank := []int{ci}, 0
		for _, in := range c.model.layout(sv.spec, c.rule, sv.parts).placed {
			o := c.model.options[in.option]
			if o.part != part {
				continue
			}
			seats = append(seats, seat{part: part, cuts: at, rank: rank, slot: in.placement.Start,
				num: int64(o.compute()), den: int64(c.model.reach),
				target: &gpu.MIGTarget{Profile: o.profile, Placement: in.placement}})
			rank++
		}
	}
	slices.SortStableFunc(seats, func(a, b seat) int { return a.rank - b.rank })
	return seats
}

// seatWhole are the groups of GPUs of a whole-GPU set.
func (sv *surveyor) seatWhole(s *site, part int) []seat {
	var whole []int
	for i, c := range s.cuts {
		if c.mode == gpu.ModeWhole {
			whole = append(whole, i)
		}
	}
	var seats []seat
	for _, group := range groupsOf(s.node.GPUs, whole, int(*sv.parts[part].gpu.Count)) {
		group = slices.Sorted(slices.Values(group))
		seats = append(seats, seat{part: part, cuts: group, num: 1, den: 1})
	}
	return seats
}
