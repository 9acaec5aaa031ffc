// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
	"aipub.io/aipub/test/kit"
)

func TestPlaceKeepsLargeSlicesWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes []Node
		held  map[string][]gpu.SliceID
		ask   string
		want  Seat
	}{
		"a small one goes to the node where a large one is broken already": {
			nodes: []Node{makeNode("a", mixed(2)), makeNode("b", mixed(2))}, held: map[string][]gpu.SliceID{"b": {kit.ID(1, "small", 0)}},
			ask: "small", want: Seat{Node: "b", Slices: []gpu.SliceID{kit.ID(1, "small", 1)}}},
		"it fills the last quarter before it breaks a half": {
			nodes: []Node{makeNode("a", mixed(1)), makeNode("b", mixed(1))},
			held:  map[string][]gpu.SliceID{"a": {kit.ID(0, "medium", 0)}, "b": {kit.ID(0, "medium", 0), kit.ID(0, "small", 0)}},
			ask:   "small", want: Seat{Node: "b", Slices: []gpu.SliceID{kit.ID(0, "small", 1)}}},
		"a large one goes to the fullest node": {
			nodes: []Node{makeNode("a", mixed(2)), makeNode("b", mixed(2))}, held: map[string][]gpu.SliceID{"b": {kit.ID(1, "small", 0)}},
			ask: "large", want: Seat{Node: "b", Slices: []gpu.SliceID{kit.ID(0, "large", 0)}}},
		"one GPU does not break a pair where it need not": {
			nodes: []Node{makeNode("a", kit.MakeLayout(2).Whole("large", 1).Whole("pair", 2).Obj()), makeNode("b", kit.MakeLayout(3).Whole("large", 1).Whole("pair", 2).Obj())},
			ask:   "large", want: Seat{Node: "b", Slices: []gpu.SliceID{kit.ID(2, "large", 0)}}},
		"several sets at once share what is broken": {
			nodes: []Node{makeNode("a", mixed(2))}, ask: "small=2,medium=1",
			want: Seat{Node: "a", Slices: []gpu.SliceID{kit.ID(0, "medium", 0), kit.ID(0, "small", 0), kit.ID(0, "small", 1)}}},
		"without a reason the first by name": {
			nodes: []Node{makeNode("b", mixed(1)), makeNode("a", mixed(1))}, ask: "large", want: Seat{Node: "a", Slices: []gpu.SliceID{kit.ID(0, "large", 0)}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range tc.nodes {
				for _, id := range tc.held[n.Name] {
					n.Held[id] = "others/pod"
				}
			}
			got, why := NewRoom(tc.nodes).Place(makeAsk(t, "pod", tc.ask))
			if why != nil {
				t.Fatal(why.Message)
			}
			tc.want.UID = "uid-pod"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("seat (-want +got):\n%s", diff)
			}
		})
	}
}

// As small ones arrive, large ones stay possible as long as anyhow possible: four
// small ones break one GPU, and no second one before.
func TestLargeSetsStayPossible(t *testing.T) {
	nodes := []Node{makeNode("a", mixed(4)), makeNode("b", mixed(4)), makeNode("c", mixed(4))}
	r := NewRoom(nodes)
	for k := range 48 {
		mustPlace(t, r, makeAsk(t, fmt.Sprintf("small-%d", k), "small"))
		large := 0
		for ; ; large++ {
			s, why := r.Place(makeAsk(t, fmt.Sprintf("large-%d", large), "large"))
			if why != nil {
				break
			}
			r.Take(s)
		}
		if want := 12 - (k+4)/4; large != want {
			t.Fatalf("after %d small ones %d large ones fit, want %d", k+1, large, want)
		}
		for i := range large {
			r.Give(fmt.Sprintf("uid-large-%d", i))
		}
	}
}

// The kubelet chooses in the end, by the device plugin's preference on the agent's
// snapshot; on the node that we choose it must take the slices that we count.
func TestTheKubeletWouldTakeTheSame(t *testing.T) {
	compared := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := randomNodes(r)[0]
		snap := snapshotOf(t, n, heldOn(n, nil))
		for _, set := range n.Layout.Sets() {
			count := int64(1 + r.IntN(3))
			seat, why := NewRoom([]Node{n}).Place(Ask{UID: "p", Sets: map[string]int64{set: count}})
			if why != nil {
				continue
			}
			var healthy []gpu.SliceID
			for _, st := range snap.Slices {
				if st.Slice.Set == set && st.State == gpu.StateFree {
					healthy = append(healthy, st.Slice.ID)
				}
			}
			want, err := choice.Prefer(snap, healthy, nil, int(count))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, seat.Slices); diff != "" {
				t.Fatalf("seed %d: %d × %s (-kubelet +ours):\n%s", seed, count, set, diff)
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("compared %d times only", compared)
	}
}

func TestWhyThereIsNoPlace(t *testing.T) {
	full := func(name string) Node {
		n := makeNode(name, mixed(1))
		n.Held[kit.ID(0, "large", 0)] = "others/pod"
		return n
	}
	cordoned := makeNode("cordoned", mixed(1))
	cordoned.Usable, cordoned.Unusable = false, "it is cordoned"
	tainted := makeNode("tainted", mixed(1))
	tainted.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	unhealthy := makeNode("unhealthy", mixed(1))
	unhealthy.Down[kit.ID(0, "large", 0)] = true
	unheard := makeNode("unheard", mixed(1))
	unheard.NotOffered["large"] = true
	other := makeNode("other", kit.MakeLayout(1).Block("tiny", 10).Obj())

	for name, tc := range map[string]struct {
		nodes  []Node
		ask    Ask
		reason string
		words  map[string]string
		says   string
	}{
		"all are taken": {[]Node{full("a"), full("b"), other}, makeAsk(t, "p", "large"), api.ReasonNoRoomOnNodes,
			map[string]string{"a": wordTaken, "b": wordTaken, "other": "it has no set large"},
			"no node has room for aipub.io/set-large now (2 nodes: its slices are held, or overlap with what is held; 1 node: it has no set large)"},
		"the kubelet has not heard of it": {[]Node{unheard}, makeAsk(t, "p", "large"), api.ReasonNoRoomOnNodes, map[string]string{"unheard": wordSoon}, "yet to offer"},
		"nobody has it":                   {[]Node{other}, makeAsk(t, "p", "large=2"), api.ReasonNoNodeHasSet, map[string]string{"other": "it has no set large"}, "has 2 × aipub.io/set-large"},
		"none has so many":                {[]Node{makeNode("a", mixed(3))}, makeAsk(t, "p", "large=4"), api.ReasonNoNodeHasSet, map[string]string{"a": "it has only 3 of set large"}, "only 3"},
		"what has it cannot be used": {[]Node{cordoned, unhealthy}, makeAsk(t, "p", "large"), api.ReasonNoNodeHasSet,
			map[string]string{"cordoned": "it is cordoned", "unhealthy": "it has no set large"}, "cordoned"},
		"the pod may not be there": {[]Node{tainted}, withPod(makeAsk(t, "p", "large"), corev1.PodSpec{}), api.ReasonNoNodeHasSet,
			map[string]string{"tainted": "the pod does not tolerate its taint team=x:NoSchedule"}, "team=x:NoSchedule"},
		"never together": {[]Node{makeNode("a", mixed(1))}, makeAsk(t, "p", "large,small"), api.ReasonNoNodeHasSet,
			map[string]string{"a": "it cannot hold all these sets together"}, "aipub.io/set-large and aipub.io/set-small"},
		"there are no nodes":  {nil, makeAsk(t, "p", "large"), api.ReasonNoNodeHasSet, map[string]string{}, "no node reports any set"},
		"it asks for nothing": {[]Node{full("a")}, Ask{UID: "p"}, api.ReasonNoNodeHasSet, map[string]string{}, "asks for no set"},
	} {
		t.Run(name, func(t *testing.T) {
			_, why := NewRoom(tc.nodes).Place(tc.ask)
			if why == nil {
				t.Fatal("there is a place")
			}
			if why.Reason != tc.reason || !strings.Contains(why.Message, tc.says) {
				t.Errorf("%s: %s; want %s: …%s…", why.Reason, why.Message, tc.reason, tc.says)
			}
			if diff := cmp.Diff(tc.words, why.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

// An answer that belongs to another state cannot give away what is held: the
// partitioner has the last word.
func TestAWrongAnswerIsNotBelieved(t *testing.T) {
	r := NewRoom([]Node{makeNode("a", mixed(1)), makeNode("b", mixed(1))})
	s := mustPlace(t, r, makeAsk(t, "first", "large"))
	ask := makeAsk(t, "second", "large")
	q := r.query(ask)
	for _, table := range r.tables {
		table.settle()
		i, _ := table.board.At(kit.ID(0, "large", 0))
		r.answers[question{table.shape, table.digest, q.number}] = answer{ok: true, Choice: choice.Choice{Slices: []int{i}}}
	}
	for range 2 {
		second, why := r.Place(ask)
		if why != nil || second.Node == s.Node {
			t.Fatalf("second: %+v, %v; the first is on %s", second, why, s.Node)
		}
		clear(r.answers)
	}
	r.Take(Seat{UID: "x", Node: "b", Slices: []gpu.SliceID{kit.ID(0, "large", 0)}})
	if _, why := r.Place(ask); why == nil || why.Reason != api.ReasonNoRoomOnNodes {
		t.Errorf("a third large one on two GPUs: %v", why)
	}
}
