// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxWarnings is how many the API keeps.
const maxWarnings = 16

// warning is what its user is to be told now, if anything. Warnings that are overdue
// together are one, the shortest. A pause without grace is its own warning.
func (s settled) warning(o api.Occupancy, now time.Time) (api.ReclaimWarning, bool) {
	w := api.ReclaimWarning{At: *at(now), ExpiresAt: *at(s.At), Reason: s.Reason}
	if !now.Before(s.At) {
		return w, !slices.ContainsFunc(o.Warnings, func(w api.ReclaimWarning) bool { return w.Reason == s.Reason })
	}
	before, ok := time.Duration(0), false
	for _, l := range s.leads() {
		if !now.Before(s.At.Add(-l - lead)) {
			before, ok = l, true
		}
	}
	switch {
	case ok:
	case s.unannounced:
		before = s.At.Sub(w.At.Time)
	default:
		return w, false
	}
	w.BeforeSeconds = int64(before / time.Second)
	return w, !s.sent(o, w.BeforeSeconds)
}

// sent reports whether its user was told as shortly before.
func (s settled) sent(o api.Occupancy, before int64) bool {
	return slices.ContainsFunc(o.Warnings, func(w api.ReclaimWarning) bool {
		return w.Reason == s.Reason && w.ExpiresAt.Time.Equal(s.At) && w.BeforeSeconds <= before
	})
}

// next is when there is something to do about it: the next warning, or the pause.
func (s settled) next(now time.Time) time.Time {
	for _, l := range s.leads() { // the longest first
		if t := s.At.Add(-l - lead); t.After(now) {
			return t
		}
	}
	return s.At
}

// remember keeps the first warning of each reason, for which the grace ran, and the
// latest ones.
func remember(ws []api.ReclaimWarning, w api.ReclaimWarning) []api.ReclaimWarning {
	seen := map[string]bool{}
	for i := 0; len(ws) >= maxWarnings && i < len(ws); i++ {
		if seen[ws[i].Reason] {
			ws = slices.Delete(ws, i, i+1)
			i--
		} else {
			seen[ws[i].Reason] = true
		}
	}
	return append(ws, w)
}

// standing are the warnings of what is still due; work takes back those of idleness.
func standing(ws []api.ReclaimWarning, dues []due) []api.ReclaimWarning {
	return slices.DeleteFunc(ws, func(w api.ReclaimWarning) bool {
		return !slices.ContainsFunc(dues, func(d due) bool { return d.reason == w.Reason && !w.At.Time.Before(d.since) })
	})
}

// hold makes the warnings that were sent hold for a deadline that has moved away from
// them, and not for an earlier one any more: should it come nearer again, it is
// announced anew.
func (s settled) hold(ws []api.ReclaimWarning) {
	for i, w := range ws {
		if w.Reason == s.Reason && w.ExpiresAt.Time.Before(s.At) && !s.unannounced {
			ws[i].ExpiresAt = *at(s.At)
			ws[i].BeforeSeconds = max(int64(s.At.Sub(w.At.Time)/time.Second), 0)
		}
	}
}

// void takes away the warnings that do not hold although they name no later time.
func (s settled) void(ws []api.ReclaimWarning) []api.ReclaimWarning {
	return slices.DeleteFunc(ws, func(w api.ReclaimWarning) bool { return w.Reason == s.Reason && !w.ExpiresAt.After(s.At) })
}
