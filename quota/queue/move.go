// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"

	"aipub.io/aipub/quota"
)

// Effect is what a change of the order would do.
type Effect struct {
	// Rank and Promoted are what the workload's annotations would be; empty: it has
	// none. Both may be what they are already.
	Rank, Promoted string
	// From and To are the workload's places in the order given, from 1.
	From, To int
	// Delayed are those who would stand behind somebody they stand before now, in
	// order: the ones overtaken, each by one place; or the workload alone, by
	// To - From places, where it moves back. A part of the order given, not a copy.
	Delayed []Item
}

// NotWaitingError says that a workload is not in the order given.
type NotWaitingError struct{ Workload quota.Workload }

// Error names the workload.
func (e *NotWaitingError) Error() string {
	return Name(e.Workload) + " does not wait in this queue"
}

// Name is a workload as users write it: namespace/Kind/name.
func Name(w quota.Workload) string {
	return fmt.Sprintf("%s/%s/%s", w.Namespace, w.Kind, w.Name)
}

// MoveBefore moves a workload directly before another one. Order is one project's
// queue, sorted. Errors: *NotWaitingError, and those of Between.
func MoveBefore(order []Item, what, target quota.Workload) (Effect, error) {
	from, err := find(order, what)
	if err != nil {
		return Effect{}, err
	}
	to, err := find(order, target)
	if err != nil {
		return Effect{}, err
	}
	if to > from {
		to-- // everybody between moves up
	}
	return place(order, from, to)
}

// MoveTo moves a workload to a position, from 1. Order is one project's queue,
// sorted. Errors: *NotWaitingError, a position that does not exist, and those of
// Between.
func MoveTo(order []Item, what quota.Workload, position int) (Effect, error) {
	from, err := find(order, what)
	if err != nil {
		return Effect{}, err
	}
	if position < 1 || position > len(order) {
		return Effect{}, fmt.Errorf("position %d does not exist: the queue has 1 to %d", position, len(order))
	}
	return place(order, from, position-1)
}

// Promote moves a workload before all that are in the order given: all projects'
// waiting workloads, as [Order] has them, or those of one project. Errors:
// *NotWaitingError, and those of Between.
func Promote(order []Item, what quota.Workload) (Effect, error) {
	from, err := find(order, what)
	if err != nil {
		return Effect{}, err
	}
	e := effect(order, from, 0)
	first := ""
	for i := range order {
		if p := order[i].Promoted; i != from && p != "" && (first == "" || p < first) {
			first = p
		}
	}
	if own := e.Promoted; own != "" && (first == "" || own < first) {
		return e, nil // it is already
	}
	e.Promoted, err = Between("", first)
	if err != nil {
		return Effect{}, fmt.Errorf("promote %s before the promotion %q: %w", Name(what), first, err)
	}
	return e, nil
}

func find(order []Item, w quota.Workload) (int, error) {
	for i := range order {
		if order[i].Workload.UID == w.UID && order[i].Workload == w { // in a long queue, one look each
			return i, nil
		}
	}
	return 0, &NotWaitingError{Workload: w}
}

// effect is a move without its keys, which stay what they are.
func effect(order []Item, from, to int) Effect {
	e := Effect{Rank: order[from].Rank, Promoted: order[from].Promoted, From: from + 1, To: to + 1}
	switch {
	case to < from:
		e.Delayed = order[to:from:from]
	case to > from:
		e.Delayed = order[from : from+1 : from+1]
	}
	return e
}

// place moves an item, and finds the keys that put it between its neighbours
// there. Next to the promoted it becomes or stays promoted only where it must.
func place(order []Item, from, to int) (Effect, error) {
	e := effect(order, from, to)
	if from == to {
		return e, nil
	}
	prev, next := neighbours(order, from, to)
	var err error
	switch promotedBefore := prev != nil && prev.Promoted != ""; {
	case next != nil && next.Promoted != "":
		e.Promoted, err = between(prev, next, func(it Item) string { return it.Promoted })
	case promotedBefore && e.Promoted != "":
		e.Promoted, err = Between(prev.Promoted, "")
	case promotedBefore:
		prev = nil // its rank does not count: it stands before all that are not promoted
		fallthrough
	default:
		e.Promoted = ""
		if prev != nil || next != nil {
			e.Rank, err = between(prev, next, Item.Key)
		}
	}
	if err != nil {
		return Effect{}, err
	}
	return e, nil
}

// neighbours are the items before and after a place once the item at from is
// taken out; nil at the ends.
func neighbours(order []Item, from, to int) (prev, next *Item) {
	at := func(i int) *Item {
		if i >= from {
			i++
		}
		if i < 0 || i >= len(order) {
			return nil
		}
		return &order[i]
	}
	if to > 0 {
		prev = at(to - 1)
	}
	return prev, at(to)
}

func between(prev, next *Item, key func(Item) string) (string, error) {
	before, after := "", ""
	if prev != nil {
		before = key(*prev)
	}
	if next != nil {
		after = key(*next)
	}
	k, err := Between(before, after)
	if errors.Is(err, ErrNoRoom) && prev != nil && next != nil {
		return "", fmt.Errorf("no key fits between those of %s (%q) and %s (%q); move one of the two first: %w",
			Name(prev.Workload), before, Name(next.Workload), after, err)
	}
	if err != nil {
		return "", fmt.Errorf("find key between %q and %q: %w", before, after, err)
	}
	return k, nil
}
