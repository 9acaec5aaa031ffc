// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

// Room is what all nodes can still hold: what they report, and what was decided
// since. It is not safe for concurrent use.
type Room struct {
	tables []*table // by name
	byName map[string]*table
	seats  map[string]seated // by UID
	// answers are kept by the node's state, so that nodes that are alike, or that
	// come back to a state, are not asked twice.
	answers map[question]answer
	numbers map[string]int // of what is asked for
	// sizes are the shares of GPUs of each set, in millionths of one; the largest,
	// where nodes differ.
	sizes map[string]int64
	// refused are asks that found no place. Until something is given back they
	// will find none.
	refused map[refusal]*Why
	// spare is how many of each group may still be asked to leave.
	spare map[int]int
	// parting is true once somebody is on their way out or may be asked to leave.
	parting bool
}

// seated is a seat by positions.
type seated struct {
	Seat
	table *table
	at    []int
}

type question struct {
	shape  int
	digest uint64
	needs  int
}

type answer struct {
	choice.Choice
	ok bool
}

type refusal struct {
	needs  int
	limits string
}

// NewRoom is the room on the given nodes; of nodes of one name the first counts.
func NewRoom(nodes []Node) *Room {
	r := &Room{
		byName: make(map[string]*table, len(nodes)), seats: map[string]seated{},
		answers: map[question]answer{}, numbers: map[string]int{}, refused: map[refusal]*Why{}, sizes: map[string]int64{},
	}
	shapes := map[choice.Shape]int{}
	for i := range nodes {
		if r.byName[nodes[i].Name] != nil {
			continue
		}
		t := newTable(&nodes[i])
		r.tables = append(r.tables, t)
		r.byName[nodes[i].Name] = t
		shape, known := shapes[t.board.Shape()]
		if !known {
			shape = len(shapes)
			shapes[t.board.Shape()] = shape
			for _, set := range t.board.Sets() {
				r.sizes[set] = max(r.sizes[set], t.board.Size(set))
			}
		}
		t.shape = shape
	}
	slices.SortFunc(r.tables, func(a, b *table) int { return cmp.Compare(a.node.Name, b.node.Name) })
	return r
}

// Take seats a pod where Place said. A pod that is seated already is left there.
// Slices that the node does not have are ignored.
func (r *Room) Take(s Seat) {
	t := r.byName[s.Node]
	if _, seated := r.seats[s.UID]; seated || t == nil {
		return
	}
	var at []int
	for _, id := range s.Slices {
		if i, ok := t.board.At(id); ok {
			at = append(at, i)
		}
	}
	r.seat(t, s.UID, at)
}

func (r *Room) seat(t *table, uid string, at []int) Seat {
	s := seated{Seat: Seat{UID: uid, Node: t.node.Name, Slices: make([]gpu.SliceID, len(at))}, table: t, at: at}
	for k, i := range at {
		s.Slices[k] = t.node.Layout.Slices[i].ID
		t.take(i)
		t.seated[i] = uid
	}
	r.seats[uid] = s
	return s.Seat
}

// TakeOn seats a pod whose gate was opened earlier on the node chosen then. What
// the node reports it to hold already is its seat; only what is missing is chosen,
// and counts once. Where there is no room for that, slices of the set whose holder
// is not known yet are taken to be its own. It reports false, and takes nothing,
// if the node is not known or has no room: it holds more than it should, or its
// slices have changed. A pod that is seated already stays where it is.
//
// Seat those that the node reports first, then the others in the order in which
// they were opened: so each comes to the slices that were counted for it.
func (r *Room) TakeOn(node string, a Ask) (Seat, bool) {
	if s, ok := r.seats[a.UID]; ok {
		return s.Seat, s.Node == node
	}
	t := r.byName[node]
	if t == nil {
		return Seat{}, false
	}
	missing := map[string]int{}
	for _, n := range needsOf(a.Sets) {
		missing[n.Set] = n.N
	}
	var at []int
	own := func(i int) {
		if set := t.node.Layout.Slices[i].Set; missing[set] > 0 {
			missing[set]--
			at = append(at, i)
		}
	}
	for _, whom := range []string{a.UID, nameOf(a.Namespace, a.Name)} {
		for _, i := range t.heldBy(whom) {
			own(i)
		}
	}
	found, ok := t.fill(missing)
	if !ok {
		for _, i := range t.heldBy("") {
			own(i)
		}
		if found, ok = t.fill(missing); !ok {
			return Seat{}, false
		}
	}
	return r.seat(t, a.UID, append(at, found...)), true
}

// fill chooses what is missing, from all that is there now.
func (t *table) fill(missing map[string]int) ([]int, bool) {
	var needs []choice.Need
	for set, n := range missing {
		if n > 0 {
			needs = append(needs, choice.Need{Set: set, N: n})
		}
	}
	if len(needs) == 0 {
		return nil, true
	}
	c, ok := t.board.Seat(t.present(), needs)
	return c.Slices, ok
}

// heldBy are the slices that the node reports to be held by somebody and that are
// not part of a seat yet, in the layout's order.
func (t *table) heldBy(whom string) []int {
	if t.byWhom == nil {
		t.byWhom = map[string][]int{}
		for i := range t.node.Layout.Slices {
			if by, held := t.node.Held[t.node.Layout.Slices[i].ID]; held {
				t.byWhom[by] = append(t.byWhom[by], i)
			}
		}
	}
	var free []int
	for _, i := range t.byWhom[whom] {
		if _, seated := t.seated[i]; !seated && t.now.Marks[i] == choice.Taken {
			free = append(free, i)
		}
	}
	return free
}

// Give takes back what a pod has: its seat, or what nodes report to be held by its
// UID.
func (r *Room) Give(uid string) {
	clear(r.refused)
	if s, ok := r.seats[uid]; ok {
		delete(r.seats, uid)
		for _, i := range s.at {
			if s.table.seated[i] == uid {
				delete(s.table.seated, i)
				s.table.give(i)
			}
		}
		return
	}
	if uid == "" {
		return
	}
	for _, t := range r.tables {
		for _, i := range t.heldBy(uid) {
			t.give(i)
		}
	}
}

// needsOf are the sets asked for, by name.
func needsOf(sets map[string]int64) []choice.Need {
	needs := make([]choice.Need, 0, len(sets))
	for set, n := range sets {
		if n > 0 {
			needs = append(needs, choice.Need{Set: set, N: int(min(n, maxSlices))})
		}
	}
	slices.SortFunc(needs, func(x, y choice.Need) int { return cmp.Compare(x.Set, y.Set) })
	return needs
}

// maxSlices is more than any node has.
const maxSlices = 1 << 20
