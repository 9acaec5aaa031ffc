// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu/choice"
)

// Leaver is a pod on a node that may be asked to leave.
type Leaver struct {
	Node string
	Ask  Ask
	// Of those of one group at most Most leave. Group 0 is none: each may.
	Group, Most int
}

// leaver is a Leaver by positions.
type leaver struct {
	uid          string
	order, group int
	at           []int
	gone         bool // it was asked to leave
}

// Leaves notes that a pod on a node is on its way out: what it holds is held still,
// and whoever room is kept for counts on it.
func (r *Room) Leaves(node string, a Ask) {
	t := r.byName[node]
	if t == nil {
		return
	}
	for _, i := range r.positions(t, a) {
		r.parting = true
		t.part(i)
	}
}

// MayLeave names those who may be asked to leave, the first to go first. Those whom
// the nodes do not know to hold anything are ignored.
func (r *Room) MayLeave(list []Leaver) {
	r.spare = map[int]int{}
	for _, t := range r.tables {
		t.leavers = nil
	}
	for order := range list {
		l := &list[order]
		t := r.byName[l.Node]
		if t == nil {
			continue
		}
		at := r.positions(t, l.Ask)
		if len(at) == 0 || t.parting[at[0]] {
			continue
		}
		r.parting, r.spare[l.Group] = true, l.Most
		t.leavers = append(t.leavers, &leaver{uid: l.Ask.UID, order: order, group: l.Group, at: at})
	}
}

// positions are the slices that a pod has on a node.
func (r *Room) positions(t *table, a Ask) []int {
	if s, ok := r.seats[a.UID]; ok {
		if s.table != t {
			return nil
		}
		return s.at
	}
	return append(t.heldBy(a.UID), t.heldBy(nameOf(a.Namespace, a.Name))...)
}

// part notes that a held slice is about to be given back.
func (t *table) part(i int) {
	if t.parting[i] || t.now.Marks[i] != choice.Taken {
		return
	}
	if t.parting == nil {
		t.parting = map[int]bool{}
	}
	t.parting[i] = true
	if t.kept != nil && !t.kept.leaving[i] {
		t.kept.release(t, i)
		t.stale = true
	}
}

// release counts a held slice as given back.
func (f *future) release(t *table, i int) {
	f.leaving[i] = true
	f.Marks[i] = t.soon(i)
	t.board.Change(i, f.Left, +1)
}

// Clear keeps room for asks that Place or PlaceAll just refused, as Keep does, and
// counts on nobody's leaving but those who leave already and at most most of those
// who may be asked to. These it returns by their UIDs: as few as can be for each ask,
// all on the node where it is to go, and among equals those who are to go first. It
// asks nobody where those who leave already make the room. From now on those asked
// count as on their way out. It reports false, and changes nothing, where that does
// not make room for all.
func (r *Room) Clear(asks []Ask, most int) (leave []string, ok bool) {
	if !r.parting {
		return nil, false
	}
	before := map[*table]*future{}
	var asked []*leaver
	for _, m := range r.members(asks) {
		t, f := r.clearFor(m.query, most-len(asked))
		if t == nil {
			r.recall(asked)
			for t, f := range before {
				t.kept, t.stale = f, true
			}
			return nil, false
		}
		if _, changed := before[t]; !changed {
			before[t] = t.kept
		}
		for _, l := range f.chosen {
			l.gone = true
			r.spare[l.group]--
		}
		asked = append(asked, f.chosen...)
		f.may, f.chosen = nil, nil
		t.kept, t.stale = f, true
	}
	for _, l := range asked {
		leave = append(leave, l.uid)
	}
	return leave, true
}

// recall asks nobody after all.
func (r *Room) recall(asked []*leaver) {
	for _, l := range asked {
		l.gone = false
		r.spare[l.group]++
	}
}

// clearFor finds the node on which the fewest have to be asked, at most most, and its
// ledger with the room kept.
func (r *Room) clearFor(q *query, most int) (*table, *future) {
	if t, f := r.free(q); t != nil {
		return t, f
	}
	var best *table
	var found *future
	for _, t := range r.tables {
		if len(t.parting)+len(t.leavers) == 0 || t.kept != nil && t.kept.hopes || !t.node.Usable || q.limits.against(t.node) != "" {
			continue
		}
		f := t.later()
		f.may = r.mayLeave(t)
		if _, ok := f.makeRoom(t.board, q.needs, noLimit); !ok {
			continue
		}
		f.recall(t)
		if len(f.chosen) <= most && (found == nil || f.asksLess(found)) {
			best, found = t, f
		}
		if found != nil && len(found.chosen) == 0 {
			break
		}
	}
	return best, found
}

// mayLeave says by slice who may be asked to leave on a node. However many of them
// are, no group loses more than it may.
func (r *Room) mayLeave(t *table) map[int]*leaver {
	may, group := map[int]*leaver{}, map[int]int{}
	for _, l := range t.leavers {
		if l.gone || l.group != 0 && group[l.group] == r.spare[l.group] {
			continue
		}
		group[l.group]++
		for _, i := range l.at {
			may[i] = l
		}
	}
	// A slice whose hardware is down is nobody's to have.
	for i := range may {
		if t.soon(i) != choice.Open {
			delete(may, i)
		}
	}
	return may
}

func (f *future) mayLeave(i int) bool { return f.may == nil || f.may[i] != nil }

// before reports whether the holder of one slice is to leave before that of another.
func (f *future) before(i, j int) bool { return f.may != nil && f.may[i].order < f.may[j].order }

// allBefore reports whether as many holders of some slices, to the last of them, are to
// leave before the last of others.
func (f *future) allBefore(these, others []int) bool {
	if f.may == nil || len(these) != len(others) || len(these) == 0 {
		return false
	}
	last := func(at []int) (order int) {
		for _, i := range at {
			order = max(order, f.may[i].order)
		}
		return order
	}
	return last(these) < last(others)
}

// choose has a pod leave with all that it holds.
func (f *future) choose(b *choice.Board, l *leaver) {
	if slices.Contains(f.chosen, l) {
		return
	}
	f.chosen = append(f.chosen, l)
	for _, i := range l.at {
		f.leaving[i] = true
		f.Marks[i] = choice.Out // its hardware is down
		if f.may[i] != nil {
			f.Marks[i] = choice.Open
		}
		b.Change(i, f.Left, +1)
	}
}

// recall lets those stay without whom there is room too, the last to go first.
func (f *future) recall(t *table) {
	slices.SortFunc(f.chosen, func(a, b *leaver) int { return cmp.Compare(a.order, b.order) })
	for k := len(f.chosen) - 1; k >= 0; k-- {
		if f.staysToo(t.board, f.chosen[k]) {
			f.chosen = slices.Delete(f.chosen, k, k+1)
		}
	}
}

// staysToo lets a pod stay if nothing of what it holds is needed.
func (f *future) staysToo(b *choice.Board, l *leaver) bool {
	for _, i := range l.at {
		if f.Marks[i] != choice.Open {
			return false
		}
	}
	for n, i := range l.at {
		if !b.Fits(i, f.Left) {
			for _, i := range l.at[:n] {
				b.Change(i, f.Left, +1)
			}
			return false
		}
		b.Change(i, f.Left, -1)
	}
	for _, i := range l.at {
		f.Marks[i] = choice.Taken
		delete(f.leaving, i)
	}
	return true
}

// asksLess reports whether it asks fewer than another, or as many that go earlier.
func (f *future) asksLess(than *future) bool {
	if c := cmp.Compare(len(f.chosen), len(than.chosen)); c != 0 {
		return c < 0
	}
	return len(f.chosen) > 0 && f.chosen[len(f.chosen)-1].order < than.chosen[len(than.chosen)-1].order
}
