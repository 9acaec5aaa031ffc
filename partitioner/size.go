// SPDX-License-Identifier: Apache-2.0

package partitioner

import "slices"

// entitlement is what even division gives to a slice at a seat.
func (s *site) entitlement(st seat) amount {
	var a amount
	for _, c := range st.cuts {
		a = a.plus(s.shares[c].part(st.num, st.den))
	}
	return a
}

// rounded is an entitlement as a set may have it.
func rounded(a amount) amount { return amount{roundCPU(a.cpu), roundMemory(a.mem)} }

// draws is what a slice of the given size at a seat takes of each zone: all of
// the one that its GPUs are in, or a part of each in proportion to what the
// GPUs are entitled to there.
func (s *site) draws(size amount, st seat) []draw {
	zones := []int{s.cuts[st.cuts[0]].zone}
	for _, c := range st.cuts[1:] {
		if z := s.cuts[c].zone; !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
	}
	if len(zones) == 1 {
		return []draw{{zones[0], size}}
	}
	cpus, mems := make([]int64, len(zones)), make([]int64, len(zones))
	for _, c := range st.cuts {
		i := slices.Index(zones, s.cuts[c].zone)
		cpus[i] += s.shares[c].cpu
		mems[i] += s.shares[c].mem
	}
	cpus, mems = portion(size.cpu, cpus), portion(size.mem, mems)
	draws := make([]draw, len(zones))
	for i, z := range zones {
		draws[i] = draw{z, amount{cpus[i], mems[i]}}
	}
	return draws
}

// drawer is draws for one size, which keeps what is the same for all seats of
// one GPU in a zone.
func (s *site) drawer(size amount) func(seat) []draw {
	single := make([][]draw, len(s.zones))
	return func(st seat) []draw {
		if len(st.cuts) > 1 {
			return s.draws(size, st)
		}
		z := s.cuts[st.cuts[0]].zone
		if single[z] == nil {
			single[z] = []draw{{z, size}}
		}
		return single[z]
	}
}
