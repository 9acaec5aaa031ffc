// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// tenants are pods on nodes, some of which may be asked to leave, and some of which
// leave.
type tenants struct {
	nodes   []Node
	asks    map[string]Ask
	seats   map[string]Seat
	order   []string // of those who may be asked to leave
	leaving map[string]bool
}

// randomTenants fills nodes with pods of random sets.
func randomTenants(t *testing.T, r *rand.Rand) *tenants {
	t.Helper()
	w := &tenants{nodes: randomNodes(r), asks: map[string]Ask{}, seats: map[string]Seat{}, leaving: map[string]bool{}}
	room := NewRoom(w.nodes)
	for i := range 60 {
		a := makeAsk(t, fmt.Sprintf("p%d", i), w.anySet(r))
		s, why := room.Place(a)
		if why != nil {
			continue
		}
		room.Take(s)
		w.asks[a.UID], w.seats[a.UID] = a, s
		switch r.IntN(5) {
		case 0, 1:
			w.order = append(w.order, a.UID)
		case 2:
			if r.IntN(3) == 0 {
				w.leaving[a.UID] = true
			}
		}
	}
	r.Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	return w
}

// anySet is a set of some node.
func (w *tenants) anySet(r *rand.Rand) string {
	n := w.nodes[r.IntN(len(w.nodes))]
	if len(n.Layout.Slices) == 0 {
		return "none"
	}
	return n.Layout.Slices[r.IntN(len(n.Layout.Slices))].Set
}

// room is with all but some, and knows who leaves and may be asked to.
func (w *tenants) room(without map[string]bool) *Room {
	r := NewRoom(w.nodes)
	var may []Leaver
	for uid, s := range w.seats {
		if !without[uid] {
			r.Take(s)
		}
	}
	for uid := range w.leaving {
		if !without[uid] {
			r.Leaves(w.seats[uid].Node, w.asks[uid])
		}
	}
	for _, uid := range w.order {
		may = append(may, Leaver{Node: w.seats[uid].Node, Ask: w.asks[uid]})
	}
	r.MayLeave(may)
	return r
}

// fits reports whether an ask has a place once all that leave, and some more, are gone.
func (w *tenants) fits(a Ask, gone ...string) bool {
	without := map[string]bool{}
	for uid := range w.leaving {
		without[uid] = true
	}
	for _, uid := range gone {
		without[uid] = true
	}
	_, why := w.room(without).Place(a)
	return why == nil
}

// TestClearedRoomIsThere checks on random nodes that who is asked to leave makes the
// room, that nobody is asked in vain, and that somebody is asked wherever it helps.
func TestClearedRoomIsThere(t *testing.T) {
	cleared, inVain := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 5))
		w := randomTenants(t, r)
		head := makeAsk(t, "head", w.anySet(r))
		room := w.room(nil)
		if _, why := room.Place(head); why == nil {
			continue
		}
		leave, ok := room.Clear([]Ask{head}, 1000)
		if !ok {
			inVain++
			for _, n := range w.nodes {
				var all []string
				for _, uid := range w.order {
					if w.seats[uid].Node == n.Name {
						all = append(all, uid)
					}
				}
				if w.fits(head, all...) {
					t.Fatalf("seed %d: %v of node %s would make room for %v, and nobody is asked", seed, all, n.Name, head.Sets)
				}
			}
			continue
		}
		cleared += len(leave)
		if !w.fits(head, leave...) {
			t.Fatalf("seed %d: without %v there is no room for %v", seed, leave, head.Sets)
		}
		for i, uid := range leave {
			if w.seats[uid].Node != w.seats[leave[0]].Node || !slices.Contains(w.order, uid) {
				t.Fatalf("seed %d: %s of %v is on another node, or may stay", seed, uid, leave)
			}
			if rest := slices.Delete(slices.Clone(leave), i, i+1); w.fits(head, rest...) {
				t.Fatalf("seed %d: %v would do, without %s", seed, rest, uid)
			}
		}
		// What is free is given to others meanwhile, and the room is there all the same.
		for i := range 20 {
			a := makeAsk(t, fmt.Sprintf("meanwhile%d", i), w.anySet(r))
			if s, why := room.Place(a); why == nil {
				room.Take(s)
				w.asks[a.UID], w.seats[a.UID] = a, s
			}
		}
		if !w.fits(head, leave...) {
			t.Fatalf("seed %d: what %v freed was given to others", seed, leave)
		}
	}
	if cleared < 50 || inVain < 20 {
		t.Errorf("%d were asked to leave, and %d times nobody: too few to test much", cleared, inVain)
	}
}

func TestClearKeepsWithinGroupsAndBounds(t *testing.T) {
	fill := func() (*Room, []Leaver) {
		r := NewRoom([]Node{makeNode("a", mixed(2))})
		var list []Leaver
		for i := range 8 {
			a := makeAsk(t, fmt.Sprintf("p%d", i), "small")
			mustPlace(t, r, a)
			list = append(list, Leaver{Node: "a", Ask: a, Group: 1, Most: 3})
		}
		return r, list
	}
	large, medium := makeAsk(t, "large", "large"), makeAsk(t, "medium", "medium")
	r, list := fill()
	r.MayLeave(list)
	if leave, ok := r.Clear([]Ask{large}, 9); ok {
		t.Errorf("%v leave, and only 3 of the 4 may", leave)
	}
	if leave, ok := r.Clear([]Ask{medium}, 1); ok {
		t.Errorf("%v leave, and at most one is to be asked", leave)
	}
	if leave, ok := r.Clear([]Ask{medium}, 9); !ok || len(leave) != 2 {
		t.Errorf("%v leave, want 2", leave)
	}
	if leave, ok := r.Clear([]Ask{medium}, 9); ok {
		t.Errorf("%v leave, and only 1 of 2 may still", leave)
	}
	r, list = fill()
	for i := range list {
		list[i].Group = 0
	}
	r.MayLeave(list)
	if leave, ok := r.Clear([]Ask{large, large, large}, 9); ok {
		t.Errorf("%v leave for three, and there are two GPUs", leave)
	}
	if leave, ok := r.Clear([]Ask{large, medium}, 9); !ok || len(leave) != 6 {
		t.Errorf("%v leave after that came to nothing, want 6", leave)
	}
}

func TestClearAsksNobodyWhileOthersLeave(t *testing.T) {
	r := NewRoom([]Node{makeNode("a", mixed(1)), makeNode("b", mixed(1))})
	var list []Leaver
	for _, name := range []string{"x", "y"} {
		a := makeAsk(t, name, "large")
		s := mustPlace(t, r, a)
		if name == "x" {
			r.Leaves(s.Node, a)
			continue
		}
		list = append(list, Leaver{Node: s.Node, Ask: a})
	}
	r.MayLeave(list)
	for i, want := range []int{0, 1} {
		leave, ok := r.Clear([]Ask{makeAsk(t, fmt.Sprint(i), "large")}, 9)
		if !ok || len(leave) != want {
			t.Errorf("%v leave for the %d. one, want %d", leave, i+1, want)
		}
	}
	if _, why := r.Place(makeAsk(t, "other", "small")); why == nil {
		t.Error("the room is given while it is held")
	}
}
