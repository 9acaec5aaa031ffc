// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"container/heap"
	"slices"
)

// Turns hands out the waiting items of all projects one by one, in the order in
// which they may ask.
type Turns struct {
	load  func(project string) float64
	lines map[string]*line
	heap  lines
	last  *line // whose turn it was
	round int
}

// NewTurns orders items, which must not change as long as turns are taken. The
// settings of each project are asked for once. The load of a project, such as the
// part of its quota that is used, is asked for at each of its turns; it may rise in
// between by what the turns bring about. A load that falls otherwise is noticed
// when the project next stands first.
func NewTurns(items []Item, settings func(project string) Settings, load func(project string) float64) *Turns {
	places := make([]Place, len(items))
	for i := range items {
		places[i] = PlaceOf(&items[i])
	}
	return TurnsOf(places, settings, load)
}

// TurnsOf is NewTurns for items whose places are known.
func TurnsOf(places []Place, settings func(project string) Settings, load func(project string) float64) *Turns {
	t := &Turns{load: load, lines: map[string]*line{}}
	of := make([]*line, len(places))
	var l *line
	for i := range places {
		project := places[i].item.Party.Project
		if l == nil || l.project != project { // those of one project may come together
			l = t.lines[project]
		}
		if l == nil {
			l = &line{project: project, priority: settings(project).Priority, load: load(project), at: len(t.heap)}
			t.lines[project] = l
			t.heap = append(t.heap, l)
		}
		l.size++
		of[i] = l
	}
	room := make([]Place, len(places))
	for _, l := range t.heap {
		l.left, room = room[:0:l.size], room[l.size:]
	}
	for i, p := range places {
		p.at = i
		of[i].left = append(of[i].left, p)
	}
	for _, l := range t.heap {
		l.putFirst()
	}
	heap.Init(&t.heap)
	return t
}

// Next returns the item whose turn it is: among the heads of all projects the
// promoted one with the lowest key; else the one of the project with the highest
// priority, then with the lowest load, then the one that comes first by Compare.
// It is false when none is left.
func (t *Turns) Next() (Item, bool) {
	p, ok := t.next()
	if !ok {
		return Item{}, false
	}
	return *p.item, true
}

// NextAt is Next, and returns where the item was in the list that turns were made of.
func (t *Turns) NextAt() (int, bool) {
	p, ok := t.next()
	return p.at, ok
}

func (t *Turns) next() (Place, bool) {
	t.round++
	if t.last != nil && t.last.at >= 0 {
		t.ask(t.last)
	}
	if len(t.heap) == 0 {
		return Place{}, false
	}
	for t.heap[0].asked != t.round {
		t.ask(t.heap[0])
	}
	l := t.heap[0]
	first := l.head
	l.left = l.left[1:]
	t.last = l
	if len(l.left) == 0 {
		heap.Pop(&t.heap)
	} else {
		l.sort()
		l.head = l.left[0]
		heap.Fix(&t.heap, 0)
	}
	return first, true
}

// ask brings a project's load up to date.
func (t *Turns) ask(l *line) {
	l.load, l.asked = t.load(l.project), t.round
	heap.Fix(&t.heap, l.at)
}

// Skip ends a project's turns: its head is blocked, and nobody overtakes it.
func (t *Turns) Skip(project string) {
	if l := t.lines[project]; l != nil && l.at >= 0 {
		heap.Remove(&t.heap, l.at)
	}
}

// Rest are the items of a project that have not come, in order, whether or not it
// was skipped.
func (t *Turns) Rest(project string) []Item {
	l := t.lines[project]
	if l == nil {
		return nil
	}
	l.sort()
	out := make([]Item, len(l.left))
	for i := range l.left {
		out[i] = *l.left[i].item
	}
	return out
}

// Order is the order of all items while no load changes.
func Order(items []Item, settings func(project string) Settings, load func(project string) float64) []Item {
	out := make([]Item, 0, len(items))
	t := NewTurns(items, settings, load)
	for it, ok := t.Next(); ok; it, ok = t.Next() {
		out = append(out, it)
	}
	return out
}

// line is the queue of one project.
type line struct {
	project  string
	size     int
	left     []Place // the first one first, and in order once sorted
	sorted   bool
	head     Place // the first of them, at hand for the heap
	priority int32
	load     float64
	asked    int // in which round the load was asked for
	at       int // in the heap; -1 when not in it
}

// putFirst finds the head: most queues are not asked for more.
func (l *line) putFirst() {
	first := 0
	for i := range l.left {
		if l.left[i].Compare(&l.left[first]) < 0 {
			first = i
		}
	}
	l.left[0], l.left[first] = l.left[first], l.left[0]
	l.head = l.left[0]
}

// sort puts what is left in order, once.
func (l *line) sort() {
	if !l.sorted {
		slices.SortFunc(l.left, func(a, b Place) int { return a.Compare(&b) })
		l.sorted = true
	}
}

// lines is a heap of those that have items left.
type lines []*line

// Len implements heap.Interface.
func (h lines) Len() int { return len(h) }

// Less implements heap.Interface.
func (h lines) Less(i, j int) bool {
	a, b := h[i], h[j]
	if c := a.head.comparePromoted(&b.head); c != 0 {
		return c < 0
	}
	if !a.head.promoted {
		if a.priority != b.priority {
			return a.priority > b.priority
		}
		if c := cmp.Compare(a.load, b.load); c != 0 {
			return c < 0
		}
	}
	if c := a.head.compareKeys(&b.head); c != 0 {
		return c < 0
	}
	return a.project < b.project
}

// Swap implements heap.Interface.
func (h lines) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface; nothing is added after the start.
func (h *lines) Push(x any) {
	if l, ok := x.(*line); ok {
		l.at = len(*h)
		*h = append(*h, l)
	}
}

// Pop implements heap.Interface.
func (h *lines) Pop() any {
	n := len(*h) - 1
	l := (*h)[n]
	*h, l.at = (*h)[:n], -1
	return l
}
