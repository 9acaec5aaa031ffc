// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/kit"
)

// held counts the slices that a room's node holds.
func held(r *Room, node string) int { return len(r.byName[node].holding()) }

func TestAPodThatWasOpenedCountsOnce(t *testing.T) {
	small := func(slot int) gpu.SliceID { return kit.ID(0, "small", slot) }
	for name, tc := range map[string]struct {
		reported map[gpu.SliceID]string
		ask      string
		want     []gpu.SliceID
		held     int
		ok       bool
	}{
		"not reported yet":                 {nil, "small=2", []gpu.SliceID{small(0), small(1)}, 2, true},
		"reported by name":                 {map[gpu.SliceID]string{small(2): "team/p", small(3): "team/p"}, "small=2", []gpu.SliceID{small(2), small(3)}, 2, true},
		"reported by UID":                  {map[gpu.SliceID]string{small(2): "uid-p"}, "small=1", []gpu.SliceID{small(2)}, 1, true},
		"one of two containers started":    {map[gpu.SliceID]string{small(2): "team/p"}, "small=2", []gpu.SliceID{small(2), small(0)}, 2, true},
		"beside others":                    {map[gpu.SliceID]string{small(0): "team/q"}, "small=1", []gpu.SliceID{small(1)}, 2, true},
		"beside one that is not known":     {map[gpu.SliceID]string{small(0): ""}, "small=1", []gpu.SliceID{small(1)}, 2, true},
		"the one that is not known is it":  {map[gpu.SliceID]string{kit.ID(0, "large", 0): ""}, "large=1", []gpu.SliceID{kit.ID(0, "large", 0)}, 1, true},
		"somebody else has what it needed": {map[gpu.SliceID]string{kit.ID(0, "large", 0): "team/q"}, "small=1", nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := makeNode("n", mixed(1))
			for id, whom := range tc.reported {
				n.Held[id] = whom
			}
			r := NewRoom([]Node{n})
			a := makeAsk(t, "p", tc.ask)
			got, ok := r.TakeOn("n", a)
			if ok != tc.ok || held(r, "n") != tc.held {
				t.Fatalf("TakeOn: %v with %d slices held on the node, want %v with %d", ok, held(r, "n"), tc.ok, tc.held)
			}
			if diff := cmp.Diff(tc.want, got.Slices); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			if again, ok := r.TakeOn("n", a); ok != tc.ok || held(r, "n") != tc.held || ok && cmp.Diff(got, again) != "" {
				t.Errorf("the second time: %+v, %v with %d slices held", again, ok, held(r, "n"))
			}
		})
	}
	r := NewRoom([]Node{makeNode("n", mixed(1))})
	if _, ok := r.TakeOn("gone", makeAsk(t, "p", "small")); ok {
		t.Error("there is a seat on a node that is not there")
	}
}

func TestWhatIsGivenBackCanBeGivenAgain(t *testing.T) {
	n := makeNode("n", mixed(1))
	n.Held[kit.ID(0, "small", 0)] = "uid-reported"
	n.Held[kit.ID(0, "small", 1)] = "team/named"
	n.Held[kit.ID(0, "medium", 1)], n.Down[kit.ID(0, "medium", 1)] = "team/retired", true
	r := NewRoom([]Node{n})
	large := makeAsk(t, "large", "large")
	refused := func(when string) {
		t.Helper()
		if _, why := r.Place(large); why == nil {
			t.Fatalf("%s: there is room for a large one", when)
		}
	}
	refused("all is held")
	r.Give("uid-reported")
	refused("one of three was given back")
	r.Give("uid-named") // it is known by name only as long as nobody said who it is
	refused("an unknown UID was given back")
	if _, ok := r.TakeOn("n", makeAsk(t, "named", "small")); !ok {
		t.Fatal("the pod that holds it has no seat")
	}
	r.Give("uid-named")
	refused("the retired one is held")
	r.Take(Seat{UID: "uid-retired", Node: "n", Slices: []gpu.SliceID{kit.ID(0, "medium", 1)}})
	r.Give("uid-retired")
	if s, why := r.Place(large); why != nil {
		t.Errorf("all was given back, and %+v: %s", s, why.Message)
	}
	medium := makeAsk(t, "medium", "medium=2")
	if _, why := r.Place(medium); why == nil {
		t.Error("a slice that the policy no longer has is given again")
	}
}

func TestTakeIgnoresWhatIsNotThere(t *testing.T) {
	r := NewRoom([]Node{makeNode("n", mixed(1)), makeNode("n", mixed(8))})
	r.Take(Seat{UID: "a", Node: "gone", Slices: []gpu.SliceID{kit.ID(0, "large", 0)}})
	r.Take(Seat{UID: "b", Node: "n", Slices: []gpu.SliceID{"other", kit.ID(0, "small", 0)}})
	r.Take(Seat{UID: "b", Node: "n", Slices: []gpu.SliceID{kit.ID(0, "small", 1)}})
	if n := held(r, "n"); n != 1 {
		t.Errorf("%d slices are held, want the one that exists of the first seat", n)
	}
}
