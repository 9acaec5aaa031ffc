// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"cmp"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxMonths is how many the API keeps: a year, and the month that runs.
const maxMonths = 13

// Span is a time from one moment to another.
type Span struct{ From, To time.Time }

// Account is what a policy did.
type Account struct {
	// Pauses are when it paused something.
	Pauses []time.Time
	// Reclaimed are from the moment a set was free after a pause to its resume, or to
	// now; Ghost while it was held by what was idle.
	Reclaimed, Ghost []Span
}

// Sum adds an account to months, and returns the last 13 that have anything, the
// latest first. Spans are split where a month ends in UTC. They are counted in whole
// seconds of the clock, so that spans that follow each other sum to the whole.
func Sum(months []api.ReclaimMonth, a Account) []api.ReclaimMonth {
	byName := map[string]*api.ReclaimMonth{}
	for _, m := range months {
		byName[m.Month] = &m
	}
	of := func(t time.Time) *api.ReclaimMonth {
		name := t.UTC().Format("2006-01")
		if byName[name] == nil {
			byName[name] = &api.ReclaimMonth{Month: name}
		}
		return byName[name]
	}
	for _, t := range a.Pauses {
		of(t).Pauses++
	}
	for _, s := range a.Reclaimed {
		s.split(func(from time.Time, seconds int64) { of(from).ReclaimedSeconds += seconds })
	}
	for _, s := range a.Ghost {
		s.split(func(from time.Time, seconds int64) { of(from).GhostSeconds += seconds })
	}
	sums := make([]api.ReclaimMonth, 0, len(byName))
	for _, m := range byName {
		sums = append(sums, *m)
	}
	slices.SortFunc(sums, func(a, b api.ReclaimMonth) int { return cmp.Compare(b.Month, a.Month) })
	return sums[:min(len(sums), maxMonths)]
}

// split calls add for each month that a span touches, with the seconds in it. A span
// that ends before it begins is empty.
func (s Span) split(add func(from time.Time, seconds int64)) {
	from, to := s.From.UTC().Truncate(time.Second), s.To.UTC().Truncate(time.Second)
	for from.Before(to) {
		end := earlier(to, time.Date(from.Year(), from.Month()+1, 1, 0, 0, 0, 0, time.UTC))
		add(from, int64(end.Sub(from)/time.Second))
		from = end
	}
}
