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

// free finds the node that [Room.Place] would choose, and its ledger with the room kept;
// nil where no node has room now.
func (r *Room) free(q *query) (*table, *future) {
	t, at := r.best(q)
	if t == nil {
		return nil, nil
	}
	f := t.later()
	for _, i := range at {
		f.keep(t.board, i)
	}
	return t, f
}

// roomFor finds the node with the fewest slices in the way, and its ledger with
// the room kept. Of those with none in the way it is the one that Place would
// choose.
func (r *Room) roomFor(q *query) (*table, *future) {
	if t, f := r.free(q); t != nil {
		return t, f
	}
	var best *table
	var kept *future
	limit := noLimit
	seen := map[question]bool{}
	for _, t := range r.tables {
		if limit == 0 || !t.node.Usable || q.limits.against(t.node) != "" {
			continue
		}
		f := t.later()
		key := question{t.shape, digestOf(f.State, 0), q.number}
		if seen[key] {
			continue // a node that is the same but for its name is not better
		}
		seen[key] = true
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

// leave counts a held slice as given back; where it is asked who may leave, with all
// that its pod has.
func (f *future) leave(b *choice.Board, i int) {
	if f.may != nil {
		f.choose(b, f.may[i])
		return
	}
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
			f.hopes = f.hopes || f.may == nil && len(leave) > 0
		}
	}
	return leaving, true
}

// fewest is the slice of a set with the fewest held ones in its way, and which
// these are: itself, where it is held. Of equals it is the one whose holders are to
// leave first, if that is known.
func (f *future) fewest(b *choice.Board, set string, limit int) (slice int, leave []int, found bool) {
	type kind struct {
		group  int
		mark   choice.Mark
		holder *leaver
	}
	tried := map[kind]bool{}
	for _, i := range b.Members(set) {
		k := kind{b.Group(i), f.Marks[i], f.may[i]}
		if k.mark == choice.Out || tried[k] {
			continue
		}
		tried[k] = true
		if out, ok := f.inTheWay(b, i, limit); ok && (!found || len(out) < len(leave) || f.allBefore(out, leave)) {
			slice, leave, found = i, out, true
			if limit = len(out); f.may == nil {
				limit--
			}
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
	var d deficit
	b.Uses(i, func(c int, amount int64) {
		if need := amount - f.Left[c]; need > 0 {
			d = append(d, short{c, need})
		}
	})
	if f.Marks[i] == choice.Taken {
		if !f.mayLeave(i) {
			return nil, false
		}
		leave = append(leave, i)
		d = d.less(b, i)
	}
	for len(d) > 0 && len(leave) < limit {
		j, helps := f.mostHelpful(b, d, leave)
		if !helps {
			return nil, false
		}
		leave = append(leave, j)
		d = d.less(b, j)
	}
	return leave, len(d) == 0 && len(leave) <= limit
}

// deficit is what is short of a few counters, each above 0.
type deficit []short

type short struct {
	counter int
	need    int64
}

// less is what is still short once a slice is given back.
func (d deficit) less(b *choice.Board, j int) deficit {
	b.Uses(j, func(c int, amount int64) {
		for k := range d {
			if d[k].counter == c {
				d[k].need -= amount
			}
		}
	})
	return slices.DeleteFunc(d, func(s short) bool { return s.need <= 0 })
}

// help is how much of a deficit a slice would give back: the sum of the parts of
// each counter, in millionths.
func (d deficit) help(b *choice.Board, j int) (sum int64) {
	const whole = 1_000_000
	b.Uses(j, func(c int, amount int64) {
		for _, s := range d {
			if s.counter == c {
				sum += min(amount, s.need) * whole / s.need
			}
		}
	})
	return sum
}

// mostHelpful is the held slice that gives back most of what is short. It looks at
// those that take from the counter with the fewest users, which is one of a GPU
// where one is short. Of equals it is the one that is to leave first, if that is
// known.
func (f *future) mostHelpful(b *choice.Board, d deficit, leave []int) (slice int, helps bool) {
	scarce := slices.MinFunc(d, func(x, y short) int {
		return cmp.Or(cmp.Compare(len(b.Users(x.counter)), len(b.Users(y.counter))), cmp.Compare(x.counter, y.counter))
	})
	var most int64
	for _, j := range b.Users(scarce.counter) {
		if f.Marks[j] != choice.Taken || slices.Contains(leave, j) || !f.mayLeave(j) {
			continue
		}
		if help := d.help(b, j); help > most || help == most && helps && f.before(j, slice) {
			slice, most, helps = j, help, true
		}
	}
	return slice, helps
}
