// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu/choice"
)

// Keep keeps room for asks that Place or PlaceAll just refused, all of them or, if
// one could never have a place, none; it then reports false. For each it chooses
// the node on which the fewest held slices stand in its way, and what it will need
// there is not given to later asks: neither the slices nor the counters. What the
// node has beyond that, and is free now, goes on to be given.
//
// It promises nothing about when: those in the way end as they end. But since
// nobody takes their place, fewer and fewer are left each time the question is
// asked anew.
func (r *Room) Keep(asks []Ask) bool {
	before := map[*table]*future{}
	for _, m := range r.members(asks) {
		t, f := r.roomFor(m.query)
		if t == nil {
			for t, f := range before {
				t.kept, t.stale = f, true
			}
			return false
		}
		if _, changed := before[t]; !changed {
			before[t] = t.kept
		}
		t.kept, t.stale = f, true
	}
	return true
}

// roomFor finds the node with the fewest slices in the way, and its ledger with
// the room kept. Of those with none in the way it is the one that Place would
// choose.
func (r *Room) roomFor(q *query) (*table, *future) {
	if t, at := r.best(q); t != nil {
		f := t.later()
		for _, i := range at {
			f.keep(t.board, i)
		}
		return t, f
	}
	var best *table
	var kept *future
	limit := noLimit
	for _, t := range r.tables {
		if limit == 0 || !t.node.Usable || q.limits.against(t.node) != "" {
			continue
		}
		f := t.later()
		if n, ok := f.makeRoom(t.board, q.needs, limit-1); ok {
			best, kept, limit = t, f, n
		}
	}
	return best, kept
}

const noLimit = 1 << 30

// keep takes an open slice out for whom it is kept for.
func (f *future) keep(b *choice.Board, i int) {
	f.Marks[i] = choice.Out
	b.Change(i, f.Left, -1)
}

// leave counts a held slice as given back.
func (f *future) leave(b *choice.Board, i int) {
	f.leaving[i] = true
	f.Marks[i] = choice.Open
	b.Change(i, f.Left, +1)
}

// makeRoom keeps room for all needs, with the fewest held slices leaving for each,
// and reports how many; not more than limit.
func (f *future) makeRoom(b *choice.Board, needs []choice.Need, limit int) (leaving int, ok bool) {
	for _, need := range b.Ordered(needs) {
		for range need.N {
			i, leave, found := f.fewest(b, need.Set, limit-leaving)
			if !found {
				return 0, false
			}
			for _, j := range leave {
				f.leave(b, j)
			}
			f.keep(b, i)
			leaving += len(leave)
		}
	}
	return leaving, true
}

// fewest is the slice of a set with the fewest held ones in its way, and which
// these are: itself, where it is held.
func (f *future) fewest(b *choice.Board, set string, limit int) (slice int, leave []int, found bool) {
	type kind struct {
		group int
		mark  choice.Mark
	}
	tried := map[kind]bool{}
	for _, i := range b.Members(set) {
		k := kind{b.Group(i), f.Marks[i]}
		if k.mark == choice.Out || k.mark == choice.TakenUnfit || tried[k] {
			continue
		}
		tried[k] = true
		if out, ok := f.inTheWay(b, i, limit); ok && (!found || len(out) < len(leave)) {
			slice, leave, found = i, out, true
			limit = len(out) - 1
			if len(out) == 0 {
				break
			}
		}
	}
	return slice, leave, found
}

// inTheWay are few held slices without which a slice fits; at most limit. Which
// are the fewest is a covering problem: it takes the one that helps most until
// nothing is short.
func (f *future) inTheWay(b *choice.Board, i, limit int) (leave []int, ok bool) {
	if limit < 0 {
		return nil, false
	}
	short := map[int]int64{}
	b.Uses(i, func(c int, amount int64) {
		if need := amount - f.Left[c]; need > 0 {
			short[c] = need
		}
	})
	out := func(j int) {
		leave = append(leave, j)
		b.Uses(j, func(c int, amount int64) {
			if need, is := short[c]; is {
				if need -= amount; need > 0 {
					short[c] = need
				} else {
					delete(short, c)
				}
			}
		})
	}
	if f.Marks[i] == choice.Taken {
		out(i)
	}
	for len(short) > 0 && len(leave) < limit {
		j, helps := f.mostHelpful(b, short, leave)
		if !helps {
			return nil, false
		}
		out(j)
	}
	return leave, len(short) == 0 && len(leave) <= limit
}

// mostHelpful is the held slice that takes most of what is short, each counter
// counted in parts of what is short of it. It looks at those that take from the
// counter with the fewest users, which is one of a GPU where one is short.
func (f *future) mostHelpful(b *choice.Board, short map[int]int64, leave []int) (slice int, helps bool) {
	scarce := -1
	for c := range short {
		if scarce < 0 || cmp.Or(cmp.Compare(len(b.Users(c)), len(b.Users(scarce))), cmp.Compare(c, scarce)) < 0 {
			scarce = c
		}
	}
	const whole = 1_000_000
	var most int64
	for _, j := range b.Users(scarce) {
		if f.Marks[j] != choice.Taken && f.Marks[j] != choice.TakenUnfit || slices.Contains(leave, j) {
			continue
		}
		var help int64
		b.Uses(j, func(c int, amount int64) {
			if need := short[c]; need > 0 {
				help += min(amount, need) * whole / need
			}
		})
		if help > most {
			slice, most, helps = j, help, true
		}
	}
	return slice, helps
}
