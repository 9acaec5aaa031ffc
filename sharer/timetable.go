// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Slot is a tenant's static window on a GPU: from Offset for Length in each
// period of the clock.
type Slot struct {
	Tenant TenantID
	Offset time.Duration
	Length time.Duration
}

// Timetable divides each period among the tenants by their guarantees, for the
// time in which no arbiter speaks. No two slots of a GPU overlap, so whoever
// keeps to its slot is alone on the GPU; nothing is lent.
//
// The slots of a tenant with several GPUs begin at the same offset on all of
// them, because a collective operation would otherwise wait for a peer outside
// its slot. They are placed first, those with most GPUs and the longest slots
// leading, each at the earliest offset that fits. Where no offset fits, the
// tenant has the longest aligned window that there is, which is shorter than its
// guarantee; it has no slot where there is none. Slots of each GPU are ordered by
// offset. The result does not depend on the order of the tenants.
func Timetable(tenants []Tenant, period time.Duration) map[string][]Slot {
	table := map[string][]Slot{}
	order := slices.SortedFunc(slices.Values(tenants), func(x, y Tenant) int {
		return cmp.Or(
			cmp.Compare(len(y.Legs), len(x.Legs)),
			cmp.Compare(longest(y, period), longest(x, period)),
			cmp.Compare(x.ID, y.ID),
		)
	})
	for _, t := range order {
		want := longest(t, period)
		offset, room := aligned(table, t.Legs, want, period)
		for _, leg := range t.Legs {
			if n := min(slotLength(leg, period), room); n > 0 {
				table[leg.GPU] = append(table[leg.GPU], Slot{t.ID, offset, n})
			}
		}
	}
	for gpu := range maps.Keys(table) {
		slices.SortFunc(table[gpu], func(x, y Slot) int { return cmp.Compare(x.Offset, y.Offset) })
	}
	return table
}

// aligned returns the earliest offset with room for want on all legs' GPUs, or
// the one with most room, and the room there.
func aligned(table map[string][]Slot, legs []Leg, want, period time.Duration) (offset, room time.Duration) {
	starts := []time.Duration{0}
	for _, leg := range legs {
		for _, s := range table[leg.GPU] {
			starts = append(starts, s.Offset+s.Length)
		}
	}
	slices.Sort(starts)
	for _, start := range starts {
		free := period - start
		for _, leg := range legs {
			for _, s := range table[leg.GPU] {
				if start < s.Offset+s.Length {
					free = min(free, max(0, s.Offset-start))
				}
			}
		}
		if free >= want {
			return start, want
		}
		if free > room {
			offset, room = start, free
		}
	}
	return offset, room
}

func slotLength(leg Leg, period time.Duration) time.Duration {
	return period * time.Duration(min(max(leg.Permille, 0), 1000)) / 1000
}

func longest(t Tenant, period time.Duration) time.Duration {
	n := time.Duration(0)
	for _, leg := range t.Legs {
		n = max(n, slotLength(leg, period))
	}
	return n
}
