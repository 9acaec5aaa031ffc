// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"slices"
	"time"
)

// due is when the first of a line's pods has to give back of a dimension.
type due struct {
	set string
	at  time.Time
}

// expect notes when a pod that was just charged has to give back.
func (l *line) expect(e *entry) {
	at := e.claim.DueBack
	if at.IsZero() {
		return
	}
	for _, x := range e.asks {
		l.setDue(x.set, earlier(l.dueBack(x.set), at))
		for _, a := range l.accounts {
			for _, p := range a.parts(l.key.party.Type) {
				if p != nil {
					b := p.find(x.set)
					b.next = earlier(b.next, at)
				}
			}
		}
	}
}

// forget looks for the next to be due after a pod that has just ended, where that
// was the first.
func (l *line) forget(e *entry) {
	at := e.claim.DueBack
	if at.IsZero() {
		return
	}
	for _, x := range e.asks {
		if l.dueBack(x.set).Equal(at) {
			l.setDue(x.set, l.firstDue(x.set, at))
		}
		if l.dueBack(x.set).Equal(at) {
			continue // another one is as early
		}
		for _, a := range l.accounts {
			for _, p := range a.parts(l.key.party.Type) {
				if p == nil {
					continue
				}
				if b := p.find(x.set); b.next.Equal(at) {
					b.next = a.firstDue(place{p.kind, x.set})
				}
			}
		}
	}
}

// firstDue looks at all lines of a part.
func (a *account) firstDue(p place) time.Time {
	var first time.Time
	for l := range a.lines {
		if p.kind == "" || p.kind == l.key.party.Type {
			first = earlier(first, l.dueBack(p.set))
		}
	}
	return first
}

// dueBack is when the first of the line's pods that hold of a dimension is due.
func (l *line) dueBack(set string) time.Time {
	for _, d := range l.dues {
		if d.set == set {
			return d.at
		}
	}
	return time.Time{}
}

func (l *line) setDue(set string, at time.Time) {
	i := slices.IndexFunc(l.dues, func(d due) bool { return d.set == set })
	switch {
	case i >= 0 && at.IsZero():
		l.dues = slices.Delete(l.dues, i, i+1)
	case i >= 0:
		l.dues[i].at = at
	case !at.IsZero():
		l.dues = append(l.dues, due{set, at})
	}
}

// firstDue looks at all pods, until one is as early as can be.
func (l *line) firstDue(set string, earliest time.Time) time.Time {
	var first time.Time
	for _, e := range l.pods {
		if e.asks.of(set) == 0 {
			continue
		}
		if first = earlier(first, e.claim.DueBack); first.Equal(earliest) {
			break
		}
	}
	return first
}

// earlier is the earlier of two times of which zero is unknown.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
