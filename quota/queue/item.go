// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
	"strings"
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
	return entry{item: &a, key: a.Key()}.compare(entry{item: &b, key: b.Key()})
}

// Sort puts the items of one project in order.
func Sort(items []Item) {
	sorted := entries(slices.Clone(items))
	for i, e := range sorted {
		items[i] = *e.item
	}
}

// entry is an item with its key at hand.
type entry struct {
	item *Item
	key  string
}

// entries are the items in the order of Compare.
func entries(items []Item) []entry {
	out := make([]entry, len(items))
	for i := range items {
		out[i] = entry{item: &items[i], key: items[i].Key()}
	}
	slices.SortFunc(out, entry.compare)
	return out
}

func (e entry) compare(other entry) int {
	if c := e.comparePromoted(other); c != 0 {
		return c
	}
	if c := strings.Compare(e.key, other.key); c != 0 {
		return c
	}
	return strings.Compare(e.item.Workload.UID, other.item.Workload.UID)
}

// comparePromoted is 0 between items that are both not promoted, or by the same
// key.
func (e entry) comparePromoted(other entry) int {
	a, b := e.item.Promoted, other.item.Promoted
	switch {
	case a == b:
		return 0
	case b == "":
		return -1
	case a == "":
		return 1
	}
	return strings.Compare(a, b)
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
