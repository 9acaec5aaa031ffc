// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// judge is for one that holds its set and is not being paused.
func (d *Decision) judge(o *api.Occupancy, s Subject, r Rules, now, startedAt time.Time) {
	signal := Observe(r.Idle, s.Watches, o.Since.Time, now)
	dues := r.dues(*o, signal, now)
	d.clear(o, s, r, dues, signal)
	o.Warnings = standing(o.Warnings, dues)
	if next, ok := first(dues, o, now, startedAt); ok {
		d.bind(o, s, r, next, now)
	} else {
		free(o, r, signal)
	}
	note(o, signal)
	if idle, ok := r.idleDue(*o, signal); ok && d.Pause == nil && idle.ripe().After(now) && (d.Next.IsZero() || idle.ripe().Before(d.Next)) {
		d.Next = idle.ripe()
	}
}

// unseen reports whether it is due and yet to be seen up to then: it may have begun to
// work just before.
func (s settled) unseen(now time.Time) bool {
	return !now.Before(s.At) && !s.seen.IsZero() && s.seen.Before(s.At)
}

// first is the deadline that comes first; one that is due waits for none that is yet to be
// seen. The warnings of each hold for it from now on.
func first(ds []due, o *api.Occupancy, now, startedAt time.Time) (settled, bool) {
	var best settled
	for i, d := range ds {
		s := d.settle(*o, now, startedAt)
		s.hold(o.Warnings)
		if i == 0 || s.At.Before(best.At) && (now.Before(best.At) || !s.unseen(now)) {
			best = s
		}
	}
	return best, len(ds) > 0
}

// peek is how soon to look again for what is yet to be seen of the last moments before a
// pause. Nodes tell of it once a minute.
const peek = 10 * time.Second

// bind shows a deadline, warns of it, and pauses when it has come. What is idle is paused
// when it was seen to be so up to then.
func (d *Decision) bind(o *api.Occupancy, s Subject, r Rules, next settled, now time.Time) {
	d.Deadline = &next.Deadline
	o.Reason, o.Policy, o.ExpiresAt = next.Reason, next.Policy, at(next.At)
	if next.unannounced {
		o.Warnings = next.void(o.Warnings)
	}
	if w, ok := next.warning(*o, now); ok {
		o.Warnings = remember(o.Warnings, w)
		d.Warn = &Notice{Deadline: next.Deadline, Text: s.warning(next, r, *o, now), Notify: next.Notify}
	}
	if now.Before(next.At) {
		d.Next = next.next(now)
		return
	}
	if next.unseen(now) {
		d.Next = now.Add(peek)
		return
	}
	d.Pause = &api.Pause{At: metav1.NewTime(now.UTC().Truncate(time.Second)), Reason: next.Reason, By: next.Policy}
}

// clear tells its user when a pause that was announced is off, because nothing wants it
// any more.
func (d *Decision) clear(o *api.Occupancy, s Subject, r Rules, dues []due, signal Signal) {
	if o.ExpiresAt == nil || len(o.Warnings) == 0 || slices.ContainsFunc(dues, func(x due) bool { return x.reason == o.Reason }) {
		return
	}
	notify := r.LimitTerms.Notify
	if o.Reason == api.ReasonIdle {
		notify = r.IdleTerms.Notify
	}
	was := Deadline{At: o.ExpiresAt.Time, Due: o.ExpiresAt.Time, Reason: o.Reason, Policy: o.Policy}
	d.Cleared = &Notice{Deadline: was, Text: s.cleared(was, signal), Notify: notify}
}

// free is for what nothing pauses as things are.
func free(o *api.Occupancy, r Rules, signal Signal) {
	o.ExpiresAt, o.Warnings, o.Policy = nil, nil, r.IdleTerms.Policy
	switch {
	case !r.Limited():
		o.Reason = api.ReasonNoLimit
	case signal.Value == api.SignalActive:
		o.Reason = api.ReasonActive
	case signal.Value == api.SignalIdle:
		o.Reason = api.ReasonExtended
	default:
		o.Reason = api.ReasonActivityUnknown
	}
}

// noteEvery is how much newer the last work has to be for it to be written down again
// while nothing else changes: who works would else be written each minute.
const noteEvery = 10 * time.Minute

// note keeps what is known of its work.
func note(o *api.Occupancy, s Signal) {
	if s.Value == api.SignalActive && o.Signal == s.Value && o.ActiveAt != nil && o.Reason != api.ReasonIdle &&
		s.ActiveAt.Sub(o.ActiveAt.Time).Abs() < noteEvery {
		return
	}
	o.Signal, o.Evidence, o.ActiveAt = s.Value, s.Evidence, nil
	if !s.ActiveAt.IsZero() {
		o.ActiveAt = at(s.ActiveAt)
	}
}
