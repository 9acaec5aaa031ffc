// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"strings"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
	"aipub.io/aipub/partitioner"
)

// query is an ask as the room looks it up.
type query struct {
	uid    string
	needs  []choice.Need
	number int // the same for the same needs
	limits limits
}

func (r *Room) query(a Ask) *query {
	q := &query{uid: a.UID, needs: needsOf(a.Sets), limits: limitsOf(a.Pod)}
	var key strings.Builder
	for _, n := range q.needs {
		fmt.Fprintf(&key, "%s=%d,", n.Set, n.N)
	}
	number, known := r.numbers[key.String()]
	if !known {
		number = len(r.numbers)
		r.numbers[key.String()] = number
	}
	q.number = number
	return q
}

// Place finds the best seat for a pod, or says why there is none. It takes
// nothing; Take does.
func (r *Room) Place(a Ask) (Seat, *Why) {
	q := r.query(a)
	if why := r.refused[q.refusal()]; why != nil {
		return Seat{}, why
	}
	if t, found := r.best(q); t != nil {
		return t.seatFor(q.uid, found), nil
	}
	why := r.why(q)
	r.refused[q.refusal()] = why
	return Seat{}, why
}

func (q *query) refusal() refusal { return refusal{q.number, q.limits.key} }

func (t *table) seatFor(uid string, at []int) Seat {
	s := Seat{UID: uid, Node: t.node.Name, Slices: make([]gpu.SliceID, len(at))}
	for k, i := range at {
		s.Slices[k] = t.node.Layout.Slices[i].ID
	}
	return s
}

// best is the node on which other sets lose least, then with the fullest GPU, then
// the fullest node, then the first by name; nil if there is none.
func (r *Room) best(q *query) (*table, []int) {
	if len(q.needs) == 0 {
		return nil, nil
	}
	for {
		var best *table
		var found answer
		for _, t := range r.tables {
			if !t.node.Usable {
				continue
			}
			if a := r.ask(t, q); a.ok && better(a, t, found, best) && q.limits.against(t.node) == "" {
				best, found = t, a
			}
		}
		if best == nil || r.confirmed(best, found.Slices) {
			return best, found.Slices
		}
	}
}

func better(a answer, t *table, than answer, best *table) bool {
	switch {
	case best == nil || a.Less(than.Choice):
		return true
	case than.Less(a.Choice):
		return false
	}
	return t.free < best.free
}

// ask is what a node can do for a query, given what others may take there.
func (r *Room) ask(t *table, q *query) answer {
	t.settle()
	return r.askIn(t, q, t.open, t.digest)
}

func (r *Room) askIn(t *table, q *query, s choice.State, digest uint64) answer {
	key := question{t.shape, digest, q.number}
	a, known := r.answers[key]
	if !known {
		a.Choice, a.ok = t.board.Seat(s, q.needs)
		r.answers[key] = a
	}
	return a
}

// confirmed asks the partitioner, which has the last word. An answer that it
// refuses was another state's with the same digest; the node gets another digest
// and is asked again.
func (r *Room) confirmed(t *table, at []int) bool {
	if partitioner.Holds(t.node.Layout, t.holding(), t.seatFor("", at).Slices) {
		return true
	}
	t.salt++
	t.stale = true
	return false
}
