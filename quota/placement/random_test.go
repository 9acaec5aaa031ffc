// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/partitioner"
)

// shown are the slices that the node's agent shows as free.
func shown(t *testing.T, n Node, held map[gpu.SliceID]bool) map[gpu.SliceID]bool {
	t.Helper()
	free := map[gpu.SliceID]bool{}
	for _, st := range snapshotOf(t, n, held).Slices {
		if st.State == gpu.StateFree {
			free[st.Slice.ID] = true
		}
	}
	return free
}

// snapshotOf is the agent's truth of a node.
func snapshotOf(t *testing.T, n Node, held map[gpu.SliceID]bool) gpu.Snapshot {
	t.Helper()
	state := node.New(node.Config{})
	state.SetLayout(n.Layout)
	for i, s := range n.Layout.Slices {
		if s.MIG != nil && (!n.Down[s.ID] || held[s.ID]) {
			if err := state.SetInstance(s.ID, gpu.Instance{GPU: s.GPUs[0], GIID: i, UUID: string(s.ID)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, s := range n.Layout.Slices {
		if held[s.ID] {
			if err := state.Claim(s.Set, []gpu.SliceID{s.ID}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return state.Snapshot()
}

// possible tries every combination of free slices on one node.
func possible(n Node, free map[gpu.SliceID]bool, from int, left map[gpu.Counter]int64, sets map[string]int64) bool {
	rest := int64(0)
	for _, k := range sets {
		rest += k
	}
	if rest == 0 {
		return true
	}
	for i := from; i < len(n.Layout.Slices); i++ {
		s := n.Layout.Slices[i]
		if _, fits := s.Fits(left); !fits || !free[s.ID] || sets[s.Set] == 0 {
			continue
		}
		after := maps.Clone(left)
		for _, u := range s.Uses {
			after[u.Counter] -= u.Amount
		}
		sets[s.Set]--
		ok := possible(n, free, i+1, after, sets)
		sets[s.Set]++
		if ok {
			return true
		}
	}
	return false
}

func heldOn(n Node, seats map[string]Seat) map[gpu.SliceID]bool {
	held := map[gpu.SliceID]bool{}
	for id := range n.Held {
		held[id] = true
	}
	for _, s := range seats {
		if s.Node == n.Name {
			for _, id := range s.Slices {
				held[id] = true
			}
		}
	}
	return held
}

// Pods come and go at random. At every moment no node holds more than it has, and
// a pod finds a place exactly when trying every combination of what the agents show
// as free finds one.
func TestNeverOverCommittedAndNeverBlind(t *testing.T) {
	placed, refused := 0, 0
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 5))
		nodes := randomNodes(r)
		var sets []string
		for _, n := range nodes {
			sets = append(sets, n.Layout.Sets()...)
		}
		if len(sets) == 0 {
			continue
		}
		room, seats := NewRoom(nodes), map[string]Seat{}
		for step := range 30 {
			if uids := slices.Sorted(maps.Keys(seats)); len(uids) > 0 && r.IntN(4) == 0 {
				uid := uids[r.IntN(len(uids))]
				room.Give(uid)
				delete(seats, uid)
				continue
			}
			a := Ask{UID: fmt.Sprintf("p%d", step), Sets: map[string]int64{sets[r.IntN(len(sets))]: int64(1 + r.IntN(2))}}
			if r.IntN(3) == 0 {
				a.Sets[sets[r.IntN(len(sets))]] = 1
			}
			want := slices.ContainsFunc(nodes, func(n Node) bool {
				held := heldOn(n, seats)
				return possible(n, shown(t, n, held), 0, n.Layout.Remaining(held), maps.Clone(a.Sets))
			})
			s, why := room.Place(a)
			if (why == nil) != want {
				t.Fatalf("seed %d step %d: place %v: %v, trying every combination says %v", seed, step, a.Sets, why, want)
			}
			if why != nil {
				refused++
				continue
			}
			placed++
			if r.IntN(3) == 0 { // as after a restart: opened earlier, to be taken again
				if s, want = room.TakeOn(s.Node, a); !want {
					t.Fatalf("seed %d step %d: there is a place for %v, and TakeOn takes none", seed, step, a.Sets)
				}
			} else {
				room.Take(s)
			}
			seats[a.UID] = s
			checkLedgers(t, nodes, seats)
		}
	}
	if placed < 500 || refused < 500 {
		t.Errorf("%d placed and %d refused; the test needs many of both", placed, refused)
	}
}

// Where we place, the partitioner's own fit agrees; where it says yes and we do
// not, the agent shows too few.
func TestPlaceAgreesWithThePartitionersFit(t *testing.T) {
	both := [2]int{}
	for seed := range uint64(250) {
		r := rand.New(rand.NewPCG(seed, 6))
		n := randomNodes(r)[0]
		clear(n.Down) // the partitioner knows no health
		held := heldOn(n, nil)
		snap := snapshotOf(t, n, held)
		for _, set := range n.Layout.Sets() {
			for count := 1; count <= 4; count++ {
				fits := partitioner.Fit(n.Layout, held, set, count)
				_, why := NewRoom([]Node{n}).Place(Ask{UID: "p", Sets: map[string]int64{set: int64(count)}})
				switch {
				case why == nil && !fits:
					t.Fatalf("seed %d: %d × %s has a place, the partitioner says it does not fit", seed, count, set)
				case why != nil && fits && snap.Count(set).Free >= count:
					t.Fatalf("seed %d: %d × %s fits and is shown as free, and has no place: %s", seed, count, set, why.Message)
				case why == nil:
					both[0]++
				default:
					both[1]++
				}
			}
		}
	}
	if both[0] < 200 || both[1] < 200 {
		t.Errorf("%d fit and %d do not; the test needs many of both", both[0], both[1])
	}
}
