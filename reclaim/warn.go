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
	w := api.ReclaimWarning{At: *at(now), ExpiresAt: *at(s.At)}
	if !now.Before(s.At) {
		return w, len(o.Warnings) == 0
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
		return w.ExpiresAt.Time.Equal(s.At) && w.BeforeSeconds <= before
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

// remember keeps the first warning, for which the grace ran, and the latest ones.
func remember(ws []api.ReclaimWarning, w api.ReclaimWarning) []api.ReclaimWarning {
	if len(ws) >= maxWarnings {
		ws = slices.Delete(slices.Clone(ws), 1, len(ws)-maxWarnings+2)
	}
	return append(ws, w)
}
