// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// A Deadline is when something is paused, and why.
type Deadline struct {
	// At is when, to the second.
	At time.Time
	// Due is when the rule wanted it, and PutOff why At is later: QuietHours, Grace, or
	// empty.
	Due    time.Time
	PutOff string
	// Reason is OccupancyLimit or Idle, and Policy the one that says so.
	Reason, Policy string
}

// settled is a deadline with everything that puts it off.
type settled struct {
	due
	Deadline
	// unannounced: its user has to be warned now for it to hold.
	unannounced bool
}

// settle puts a due off to where its user has been warned for long enough and it is
// not quiet.
func (d due) settle(o api.Occupancy, now, startedAt time.Time) settled {
	s := settled{due: d, Deadline: Deadline{At: d.quiet.end(d.at), Due: d.at, Reason: d.reason, Policy: d.Policy}}
	if d.Grace > 0 {
		fresh := later(d.at, up(now).Add(d.Grace))
		announced, ok := d.announced(o, startedAt)
		if end := d.quiet.end(fresh); ok && !announced.After(end) {
			s.At = announced
		} else {
			s.At, s.unannounced = end, fresh.After(d.at)
		}
	}
	if q := d.quiet.end(now); !s.At.After(now) && q.After(now) {
		s.At = up(q) // nobody looked in time, and now it is quiet
	}
	s.PutOff = d.putOff(s.At)
	return s
}

// announced is the earliest time for which the warnings that were sent hold: a warning
// holds for the time that it named and for any later one, after the grace. Warnings of
// before the controller started do not hold for what it then found overdue.
func (d due) announced(o api.Occupancy, startedAt time.Time) (time.Time, bool) {
	best, found := d.promised(o, d.since)
	if found && best.Before(startedAt) {
		best, found = d.promised(o, later(d.since, startedAt))
	}
	return best, found
}

// promised is what the warnings since a time hold for.
func (d due) promised(o api.Occupancy, since time.Time) (best time.Time, found bool) {
	for _, w := range o.Warnings {
		if w.Reason != d.reason || w.At.Time.Before(since) {
			continue
		}
		t := d.quiet.end(later(later(d.at, w.ExpiresAt.Time), w.At.Add(d.Grace)))
		if !found || t.Before(best) {
			best, found = t, true
		}
	}
	return best, found
}

func (d due) putOff(at time.Time) string {
	switch {
	case !at.After(d.at):
		return ""
	case d.quiet.end(d.at).After(d.at) || d.quiet.end(at.Add(-time.Second)).Equal(at):
		return api.ReasonQuietHours
	}
	return api.ReasonGrace
}
