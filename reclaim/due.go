// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// lead is how much earlier than it says a warning is sent, so that one that is as long
// before as the grace does not put the pause off when the loop is a moment late.
const lead = 5 * time.Second

// due is when a rule wants a pause, before anything puts it off.
type due struct {
	at     time.Time
	reason string
	Terms
	// since is when it began to be so; what was said before it does not count.
	since time.Time
	// seen is until when it was looked at whether it is so; the zero time is always.
	seen time.Time
	// within is below what the warnings stay; 0 is no bound.
	within time.Duration
}

// dues are what the rules want of a workload that holds its set. The idle rule wants
// nothing until the first of its warnings is near.
func (r Rules) dues(o api.Occupancy, s Signal, now time.Time) []due {
	var ds []due
	if at := Clock(o, r.Limit); !at.IsZero() {
		ds = append(ds, due{at: at, reason: api.ReasonOccupancyLimit, Terms: r.LimitTerms})
	}
	if d, ok := r.idleDue(o, s); ok && !now.Before(d.ripe()) {
		ds = append(ds, d)
	}
	return ds
}

func (r Rules) idleDue(o api.Occupancy, s Signal) (due, bool) {
	if r.Idle.After <= 0 || s.Since.IsZero() {
		return due{}, false
	}
	at := later(up(s.Since.Add(r.Idle.After)), kept(o))
	return due{at: at, reason: api.ReasonIdle, Terms: r.IdleTerms, since: s.Since, seen: s.Seen, within: r.Idle.After}, true
}

// ripe is when the first warning is near.
func (d due) ripe() time.Time {
	if leads := d.leads(); len(leads) > 0 {
		return d.at.Add(-leads[0] - lead)
	}
	return d.at
}

// leads are how long before the pause to warn, the longest first. One of them is at
// least the grace, so that warning does not make the pause late.
func (d due) leads() []time.Duration {
	leads := slices.Clone(d.Warn)
	if len(leads) == 0 || leads[0] < d.Grace {
		leads = slices.Insert(leads, 0, d.Grace)
	}
	return slices.DeleteFunc(leads, func(l time.Duration) bool { return l <= 0 || d.within > 0 && l >= d.within })
}
