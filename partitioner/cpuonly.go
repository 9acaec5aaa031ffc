// SPDX-License-Identifier: Apache-2.0

package partitioner

import "aipub.io/aipub/gpu"

// unitsInto adds the slices of one CPU-only set. Those set aside bring their
// counters with them, since nothing else draws on them.
func (p *plan) unitsInto(l *gpu.Layout, part int, units []unit, group string) {
	pt := p.parts[part]
	for _, u := range units {
		if u.part != part {
			continue
		}
		s := gpu.Slice{
			ID: sliceID(cpuKey, pt.name, u.slot), Set: pt.name, Kind: gpu.KindCPU,
			CPUMilli: pt.size.cpu, MemoryBytes: pt.size.mem,
			Uses: p.uses(u.draws, group),
		}
		if numa := p.zones[u.draws[0].zone].numa; len(u.draws) == 1 && numa >= 0 {
			s.NUMANodes = []int{numa}
		}
		if pt.perNode > 0 {
			for _, use := range s.Uses {
				l.Totals[use.Counter] += use.Amount
			}
		}
		l.Slices = append(l.Slices, s)
	}
}

// spareInto adds the counters of the sets without perNode, where there are any.
func (p *plan) spareInto(totals map[gpu.Counter]int64) {
	if len(p.loose) == 0 {
		return
	}
	for z, zone := range p.zones {
		totals[gpu.Counter(zone.name+"/spare/cpu")] = p.spare[z].cpu
		totals[gpu.Counter(zone.name+"/spare/memory")] = p.spare[z].mem
	}
}
