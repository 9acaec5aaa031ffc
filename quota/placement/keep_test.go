// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/test/kit"
)

// line is a queue in which small ones wait without end behind one head.
type line struct {
	t     *testing.T
	r     *rand.Rand
	nodes []Node
	seats map[string]Seat
	made  int
	small func() Ask // the next one behind the head
}

// room is made anew for each decision, as the controller does.
func (l *line) room() *Room {
	r := NewRoom(l.nodes)
	for _, uid := range slices.Sorted(maps.Keys(l.seats)) {
		r.Take(l.seats[uid])
	}
	return r
}

// fill lets those behind the head in until a number of them in a row find nothing.
func (l *line) fill(r *Room) (entered int) {
	for refused := 0; refused < 8; {
		a := l.small()
		s, why := r.Place(a)
		if why != nil {
			refused++
			continue
		}
		refused = 0
		r.Take(s)
		l.seats[a.UID] = s
		entered++
	}
	checkLedgers(l.t, l.nodes, l.seats)
	return entered
}

// release ends one of them at random.
func (l *line) release() {
	uids := slices.Sorted(maps.Keys(l.seats))
	delete(l.seats, uids[l.r.IntN(len(uids))])
}

// wait lets pods end, one at a time and at most so many, until the head is in. It
// reports after how many, and how many others were let in meanwhile.
func (l *line) wait(head Ask, keep bool, most int) (released, entered int, in bool) {
	for ; released < most; released++ {
		r := l.room()
		if s, why := r.Place(head); why == nil {
			r.Take(s)
			l.seats[head.UID] = s
			checkLedgers(l.t, l.nodes, l.seats)
			return released, entered, true
		}
		if keep && !r.Keep([]Ask{head}) {
			l.t.Fatalf("there could never be a place for %v", head.Sets)
		}
		entered += l.fill(r)
		if len(l.seats) == 0 {
			return released, entered, false
		}
		l.release()
	}
	return released, entered, false
}

func (l *line) numbered(a Ask) Ask {
	l.made++
	a.UID = fmt.Sprintf("p%d", l.made)
	return a
}

func TestKeepLetsALargeOneInAndWithoutItStarves(t *testing.T) {
	for seed := range uint64(8) {
		start := func() *line {
			l := &line{t: t, r: rand.New(rand.NewPCG(seed, 8)), nodes: []Node{makeNode("a", mixed(2)), makeNode("b", mixed(2))}, seats: map[string]Seat{}}
			l.small = func() Ask { return l.numbered(makeAsk(t, "s", "small")) }
			l.fill(l.room())
			return l
		}
		head := makeAsk(t, "head", "large")
		// 16 small ones run; in the worst case the last of the four in the way ends
		// after all the others have been replaced several times.
		released, entered, in := start().wait(head, true, 200)
		if !in {
			t.Errorf("seed %d: the head is not in after %d releases", seed, released)
		}
		if entered < released/2 {
			t.Errorf("seed %d: only %d others went on during %d releases; what is not kept is to be given", seed, entered, released)
		}
		if _, _, in := start().wait(head, false, 400); in {
			t.Errorf("seed %d: without Keep the head got in; the test does not starve it", seed)
		}
	}
}

// The same on nodes of all kinds, whatever the head asks for.
func TestKeepLetsAnyHeadIn(t *testing.T) {
	tried := 0
	for seed := range uint64(80) {
		l := &line{t: t, r: rand.New(rand.NewPCG(seed, 9)), seats: map[string]Seat{}}
		l.nodes = randomNodes(l.r)
		for _, n := range l.nodes {
			clear(n.Held) // what nodes report here never ends
		}
		var sets []string
		for _, n := range l.nodes {
			sets = append(sets, n.Layout.Sets()...)
		}
		if len(sets) == 0 {
			continue
		}
		l.small = func() Ask { return l.numbered(Ask{Sets: map[string]int64{sets[l.r.IntN(len(sets))]: 1}}) }
		head := Ask{UID: "head", Sets: map[string]int64{sets[l.r.IntN(len(sets))]: int64(1 + l.r.IntN(2))}}
		if _, why := NewRoom(l.nodes).Place(head); why != nil {
			continue // not even when all is free
		}
		l.fill(l.room())
		bound := 20 * (len(l.seats) + 1)
		if released, _, in := l.wait(head, true, bound); !in {
			t.Errorf("seed %d: %v is not in after %d releases", seed, head.Sets, released)
		}
		tried++
	}
	if tried < 50 {
		t.Errorf("tried %d times only", tried)
	}
}

func TestKeepChoosesWhereFewestAreInTheWay(t *testing.T) {
	hold := func(n Node, ids ...gpu.SliceID) Node {
		for _, id := range ids {
			n.Held[id] = "others/" + string(id)
		}
		return n
	}
	three := func() Node {
		return hold(makeNode("a", mixed(1)), kit.ID(0, "small", 0), kit.ID(0, "small", 1), kit.ID(0, "small", 2))
	}
	one := func() Node { return hold(makeNode("b", mixed(1)), kit.ID(0, "medium", 0)) }
	large := makeAsk(t, "head", "large")
	place := func(r *Room, sets string) string {
		s, why := r.Place(makeAsk(t, "p-"+sets, sets))
		if why != nil {
			return why.Reason
		}
		return s.Node
	}

	r := NewRoom([]Node{three(), one()})
	if !r.Keep([]Ask{large}) {
		t.Fatal("nothing was kept")
	}
	if got := place(r, "small"); got != "a" {
		t.Errorf("a small one: %s, want node a, where nothing is kept", got)
	}
	if got := place(r, "medium"); got != api.ReasonKeptForEarlier {
		t.Errorf("a medium one: %s, want %s: its only room is kept", got, api.ReasonKeptForEarlier)
	}
	if got := place(r, "medium=3"); got != api.ReasonNoNodeHasSet {
		t.Errorf("three medium ones: %s", got)
	}

	// Whatever the order of names.
	first, last := one(), three()
	first.Name, last.Name = "a", "b"
	r = NewRoom([]Node{first, last})
	if !r.Keep([]Ask{large}) || place(r, "medium") != api.ReasonKeptForEarlier || place(r, "small") != "b" {
		t.Error("room is kept on node b, where three are in the way, not on node a with one")
	}

	// And of GPUs.
	gpus := hold(makeNode("n", mixed(2)), kit.ID(0, "small", 0), kit.ID(1, "small", 0), kit.ID(1, "small", 1), kit.ID(1, "small", 2))
	r = NewRoom([]Node{gpus})
	if !r.Keep([]Ask{large}) || place(r, "medium") != api.ReasonKeptForEarlier || place(r, "small") != "n" {
		t.Error("room is kept on the GPU with three in the way, not on that with one")
	}

	// A second head gets the other node, a third could not have any.
	r = NewRoom([]Node{three(), one()})
	if !r.Keep([]Ask{large}) || !r.Keep([]Ask{makeAsk(t, "second", "large")}) || place(r, "small") != api.ReasonKeptForEarlier {
		t.Error("nothing is kept for a second one on node a")
	}
	if r.Keep([]Ask{makeAsk(t, "third", "large")}) {
		t.Error("a third large one on two GPUs is promised a place")
	}

	// What may not be on the node, or is not usable, is not kept there.
	selective := withPod(large, corev1.PodSpec{NodeSelector: map[string]string{"kubernetes.io/hostname": "a"}})
	r = NewRoom([]Node{three(), one()})
	if !r.Keep([]Ask{selective}) || place(r, "medium") != "b" {
		t.Error("room is kept where the pod may not be")
	}
	down := one()
	down.Down[kit.ID(0, "large", 0)] = true
	if NewRoom([]Node{down}).Keep([]Ask{large}) {
		t.Error("an unhealthy slice is kept")
	}
}

// Instances are kept themselves, not only the amount that they take: there is no
// other of their kind.
func TestKeepHoldsTheSlicesThemselves(t *testing.T) {
	n := makeNode("n", kit.MakeLayout(1).MIG("mig", 3).Obj())
	n.Held[kit.ID(0, "mig", 0)] = "others/pod"
	r := NewRoom([]Node{n})
	if !r.Keep([]Ask{makeAsk(t, "head", "mig=3")}) {
		t.Fatal("nothing was kept")
	}
	if _, why := r.Place(makeAsk(t, "p", "mig")); why == nil || why.Reason != api.ReasonKeptForEarlier {
		t.Errorf("one of three instances that are kept: %v, want %s", why, api.ReasonKeptForEarlier)
	}
}

// The kubelet hears of a freed slice later than we do: in between nobody else may
// take its place.
func TestKeepHoldsWhatTheKubeletHasNotHeardOf(t *testing.T) {
	n := makeNode("n", mixed(1))
	n.NotOffered["large"] = true
	r := NewRoom([]Node{n})
	head := makeAsk(t, "head", "large")
	if _, why := r.Place(head); why == nil || why.Reason != api.ReasonNoRoomOnNodes {
		t.Fatalf("placed although the kubelet offers none: %v", why)
	}
	if !r.Keep([]Ask{head}) {
		t.Fatal("nothing was kept")
	}
	if _, why := r.Place(makeAsk(t, "s", "small")); why == nil || why.Reason != api.ReasonKeptForEarlier {
		t.Errorf("a small one: %v, want %s", why, api.ReasonKeptForEarlier)
	}
}

// All of a gang or nothing.
func TestKeepForAGang(t *testing.T) {
	nodes := []Node{makeNode("a", mixed(1)), makeNode("b", mixed(1))}
	for _, n := range nodes {
		n.Held[kit.ID(0, "small", 0)] = "others/" + n.Name
	}
	gang := func(n int) (asks []Ask) {
		for k := range n {
			asks = append(asks, makeAsk(t, fmt.Sprintf("g%d", k), "large"))
		}
		return asks
	}
	r := NewRoom(nodes)
	if r.Keep(gang(3)) {
		t.Error("three large ones on two GPUs are promised a place")
	}
	if _, why := r.Place(makeAsk(t, "s", "small=3")); why != nil {
		t.Errorf("what could not be kept in whole is kept in part: %s", why.Message)
	}
	if !r.Keep(gang(2)) {
		t.Error("nothing was kept for two")
	}
	if _, why := r.Place(makeAsk(t, "s", "small")); why == nil || why.Reason != api.ReasonKeptForEarlier {
		t.Errorf("a small one: %v", why)
	}
}

// What is given back while room is kept goes to whom it is kept for.
func TestGiveWhileRoomIsKept(t *testing.T) {
	r := NewRoom([]Node{makeNode("n", mixed(1))})
	for k := range 4 {
		mustPlace(t, r, makeAsk(t, fmt.Sprint(k), "small"))
	}
	head := makeAsk(t, "head", "medium")
	if !r.Keep([]Ask{head}) {
		t.Fatal("nothing was kept")
	}
	for k := range 4 {
		r.Give(fmt.Sprintf("uid-%d", k))
		_, why := r.Place(makeAsk(t, fmt.Sprintf("late-%d", k), "small"))
		if wantRoom := k >= 2; (why == nil) != wantRoom {
			t.Errorf("after %d of 4 quarters came back, of which a half is kept: a small one has room %v, want %v", k+1, why == nil, wantRoom)
		}
	}
}
