// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// ReclaimBounds are the upper bounds of the buckets of Stat.Reclaims; one more
// bucket holds what is longer than all of them.
var ReclaimBounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

// Stat is what a tenant had so far. Durations are totals that only grow, of GPU
// time summed over its GPUs unless said otherwise.
type Stat struct {
	Tenant     TenantID
	Guaranteed time.Duration // what its guarantee came to
	Used       time.Duration // time that it had a GPU, in use or not
	Busy       time.Duration // GPU time as its processes measured it, per lease once
	Lent       time.Duration // of Guaranteed, what others used
	Borrowed   time.Duration // of Used, what is beyond Guaranteed
	Waited     time.Duration // wall time that work waited without a lease
	Leases     uint64
	Forced     uint64 // leases taken by force
	// Debt is how far it is ahead of its share now, on the GPU where it is most so.
	Debt time.Duration
	// Reclaims counts how long the tenant, waking with credit while another had
	// the GPU, waited for it: by ReclaimBounds, each bucket by itself.
	Reclaims    [len(ReclaimBounds) + 1]uint64
	ReclaimSum  time.Duration
	LastReclaim time.Duration
	// LongestReclaim is the longest so far.
	LongestReclaim time.Duration
}

func (s *Stat) reclaimed(d time.Duration) {
	i := 0
	for i < len(ReclaimBounds) && d > ReclaimBounds[i] {
		i++
	}
	s.Reclaims[i]++
	s.ReclaimSum += d
	s.LastReclaim = d
	s.LongestReclaim = max(s.LongestReclaim, d)
}

// Stats returns what each tenant of the set had up to the last event, in the
// order of the set.
func (a *Arbiter) Stats() []Stat {
	var all []Stat
	for _, t := range a.tenants {
		if t.removed {
			continue
		}
		s := t.stat
		for _, seat := range t.seats {
			s.Debt = max(s.Debt, time.Duration(-seat.lag))
		}
		all = append(all, s)
	}
	return all
}
