// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "aipub.io/aipub/api/v1alpha1"
)

// Subject is one workload as it is now.
type Subject struct {
	Workload
	// Occupancy is what was kept of it.
	Occupancy api.Occupancy
	// Pods are those on a node, also while they end.
	Pods []Holder
	// HeldUntil is when it surely held its set last; it counts where the pod is gone
	// that Occupancy names. A loop that saw the pod knows when it went; a new leader knows
	// when there was one before it. With the zero time nothing more is counted.
	HeldUntil time.Time
	// Watches are of all its containers with a set, and of its notebook server where
	// one is to be asked.
	Watches []Watch
	// Extend is how many seconds its annotation adds in all, and ExtendedBy who last
	// changed that.
	Extend     int64
	ExtendedBy string
	// Pausing: it is being paused already, and holds its set until that is done.
	Pausing bool
	// Paused: a pause has freed its set, and it was not resumed.
	Paused bool
}

// Decision is what to do about a workload now.
type Decision struct {
	// Occupancy is what to keep, and Changed whether it differs from what was kept. Keep
	// it after its user was told, so that a kill in between tells twice rather than
	// never, and before it is paused.
	Occupancy api.Occupancy
	Changed   bool
	// Deadline is when it will be paused; nil where nothing says so.
	Deadline *Deadline
	// Warn is what its user is to be told, Cleared that a pause that was announced is
	// off, Pause that it is paused now, and Extended that time was added or, below
	// zero, taken back.
	Warn     *Notice
	Cleared  *Notice
	Pause    *api.Pause
	Extended time.Duration
	// DropExtend: the annotation with the time added is of a clock that has ended, and
	// is to be taken away before it is resumed.
	DropExtend bool
	// Next is when to look again if nothing changes before; the zero time is never.
	Next time.Time
}

// Notice is what somebody is told, about which deadline.
type Notice struct {
	Deadline
	Text string
	// Notify is a URL that is told too; empty for none.
	Notify string
}

// Decide says what to do about a workload. It depends on nothing but what it is given,
// so it may be asked at any time and again: with what it said to keep, at the same
// time, it says the same and warns of nothing twice. A pause is asked for until the
// subject is Pausing. StartedAt is when the controller became leader.
func Decide(s Subject, r Rules, now, startedAt time.Time) Decision {
	if s.Paused {
		return Decision{Changed: !equality.Semantic.DeepEqual(s.Occupancy, api.Occupancy{}), DropExtend: s.Extend != 0}
	}
	o := *s.Occupancy.DeepCopy()
	run(&o, s.Pods, s.HeldUntil, now)
	d := Decision{Extended: time.Duration(extend(&o, s.Extend, s.ExtendedBy, now)) * time.Second}
	switch {
	case o.Since == nil:
		if r.Limit == 0 {
			o.Reason, o.Policy, o.Warnings = "", "", nil
		}
	case !s.Pausing:
		d.judge(&o, s, r, now, startedAt)
	}
	d.Occupancy, d.Changed = o, !equality.Semantic.DeepEqual(s.Occupancy, o)
	return d
}
