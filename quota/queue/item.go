// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Item is one waiting workload.
type Item struct {
	Workload quota.Workload
	Party    quota.Party
	// Rank and Promoted are the annotations [api.RankAnnotation] and
	// [api.PromotedAnnotation] of the workload; empty where it has none.
	Rank, Promoted string
	// Created is when the workload was made.
	Created time.Time
}

// Key is the item's place in its project: its rank, else its default key.
func (it Item) Key() string {
	if it.Rank != "" {
		return it.Rank
	}
	return DefaultKey(it.Created, it.Workload.UID)
}

// Compare orders the items of one project: the promoted first, by their keys, then
// the others by theirs. It is total; what has the same key is ordered by UID.
func Compare(a, b Item) int {
	x, y := PlaceOf(&a), PlaceOf(&b)
	return x.Compare(&y)
}

// Sort puts the items of one project in order.
func Sort(items []Item) {
	sorted := make([]Place, len(items))
	for i := range items {
		sorted[i] = PlaceOf(&items[i])
		sorted[i].at = i
	}
	slices.SortFunc(sorted, func(a, b Place) int { return a.Compare(&b) })
	arrange(items, sorted)
}

// arrange puts each item where its place is among those that are sorted. It moves
// them in circles, so that no second list of items is needed.
func arrange(items []Item, sorted []Place) {
	for i := range sorted {
		if sorted[i].at == i {
			continue
		}
		first, to := items[i], i
		for {
			from := sorted[to].at
			sorted[to].at = to
			if from == i {
				items[to] = first
				break
			}
			items[to] = items[from]
			to = from
		}
	}
}

// defaultPatience is that of spec.patienceSeconds in the API.
const defaultPatience = 600 * time.Second

// Settings are how a project's queue works.
type Settings struct {
	Policy   api.QueuePolicy
	Priority int32
	// Patience is how long, under FirstScheduling, a workload that finds no room is
	// passed by others before room is kept for it.
	Patience time.Duration
}

// SettingsOf are those of a queue, or the defaults for a project without one.
func SettingsOf(q *api.PriorityQueue) Settings {
	s := Settings{Policy: api.FirstAllocating, Patience: defaultPatience}
	if q == nil {
		return s
	}
	s.Policy, s.Priority = cmp.Or(q.Spec.Policy, s.Policy), q.Spec.Priority
	if p := q.Spec.PatienceSeconds; p != nil {
		s.Patience = time.Duration(*p) * time.Second
	}
	return s
}
