// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/test/kit"
)

func onNode(name string) corev1.PodSpec {
	return corev1.PodSpec{NodeSelector: map[string]string{"kubernetes.io/hostname": name}}
}

func TestPlaceAllGivesAllOrNothing(t *testing.T) {
	nodes := func() []Node { return []Node{makeNode("a", mixed(1)), makeNode("b", mixed(1))} }
	for name, tc := range map[string]struct {
		asks   []Ask
		reason string // "" if all have a place
		says   string
	}{
		"on two nodes":                          {[]Ask{makeAsk(t, "1", "large"), makeAsk(t, "2", "large")}, "", ""},
		"the largest first, whatever the order": {[]Ask{makeAsk(t, "1", "small"), makeAsk(t, "2", "small"), makeAsk(t, "3", "large")}, "", ""},
		"the choosy one first, where the best place of another is its only one": {
			[]Ask{makeAsk(t, "1", "large"), withPod(makeAsk(t, "2", "large"), onNode("a"))}, "", ""},
		"one too many": {[]Ask{makeAsk(t, "1", "large"), makeAsk(t, "2", "large"), makeAsk(t, "3", "large")}, api.ReasonNoRoomOnNodes, "2 of the 3 pods"},
		"two that want the same": {[]Ask{withPod(makeAsk(t, "1", "large"), onNode("a")), withPod(makeAsk(t, "2", "small"), onNode("a"))},
			api.ReasonNoRoomOnNodes, "1 of the 2 pods"},
		"one of them alone": {[]Ask{makeAsk(t, "1", "large=2")}, api.ReasonNoNodeHasSet, "only 1 of set large"},
		"none":              {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := nodes()
			r := NewRoom(all)
			seats, why := r.PlaceAll(tc.asks)
			for _, n := range all {
				if held(r, n.Name) != 0 {
					t.Errorf("%d slices of node %s were taken", held(r, n.Name), n.Name)
				}
			}
			if tc.reason != "" {
				if why == nil || why.Reason != tc.reason || !strings.Contains(why.Message, tc.says) || seats != nil {
					t.Errorf("%v, %v; want %s: …%s…", seats, why, tc.reason, tc.says)
				}
				return
			}
			if why != nil {
				t.Fatal(why.Message)
			}
			taken := map[string]Seat{}
			for k, s := range seats {
				if s.UID != tc.asks[k].UID || int64(len(s.Slices)) != tc.asks[k].Sets["small"]+tc.asks[k].Sets["large"] {
					t.Errorf("seat %d is %+v, for %+v", k, s, tc.asks[k])
				}
				taken[s.UID] = s
			}
			if len(taken) != len(tc.asks) {
				t.Errorf("%d seats for %d pods", len(taken), len(tc.asks))
			}
			checkLedgers(t, all, taken)
		})
	}
}

// Gangs of pods that each may be on some nodes only: all find seats exactly when
// some assignment of nodes to them does.
func TestPlaceAllFindsWhatThereIs(t *testing.T) {
	yes, no := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 10))
		var nodes []Node
		for k := range 2 + r.IntN(2) {
			n := makeNode(fmt.Sprintf("n%d", k), mixed(1))
			if r.IntN(3) == 0 {
				n.Held[kit.ID(0, "small", 0)] = "others/pod"
			}
			nodes = append(nodes, n)
		}
		var asks []Ask
		allowed := make([][]int, 2+r.IntN(4))
		for k := range allowed {
			a := makeAsk(t, fmt.Sprint(k), []string{"small", "medium", "large", "small=2", "small=3"}[r.IntN(5)])
			var names []string
			for i := range nodes {
				if r.IntN(2) == 0 {
					allowed[k] = append(allowed[k], i)
					names = append(names, nodes[i].Name)
				}
			}
			asks = append(asks, withPod(a, corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: names}}}}}}}}))
		}
		free := make([]int, len(nodes))
		for i, n := range nodes {
			free[i] = 100 - 25*len(n.Held)
		}
		want := assignable(asks, allowed, free)
		seats, why := NewRoom(nodes).PlaceAll(asks)
		if (why == nil) != want {
			t.Fatalf("seed %d: %v, trying every assignment says %v", seed, why, want)
		}
		if why != nil {
			no++
			continue
		}
		yes++
		taken := map[string]Seat{}
		for k, s := range seats {
			taken[s.UID] = s
			if !slices.ContainsFunc(allowed[k], func(i int) bool { return nodes[i].Name == s.Node }) {
				t.Fatalf("seed %d: pod %d is on node %s", seed, k, s.Node)
			}
		}
		checkLedgers(t, nodes, taken)
	}
	if yes < 50 || no < 50 {
		t.Errorf("%d gangs have seats and %d have none; the test needs many of both", yes, no)
	}
}

// assignable tries every node for every pod, on nodes of one GPU.
func assignable(asks []Ask, allowed [][]int, free []int) bool {
	if len(asks) == 0 {
		return true
	}
	s := asks[0].Sets
	need := int(25*s["small"] + 50*s["medium"] + 100*s["large"])
	for _, i := range allowed[0] {
		if free[i] < need {
			continue
		}
		free[i] -= need
		ok := assignable(asks[1:], allowed[1:], free)
		free[i] += need
		if ok {
			return true
		}
	}
	return false
}

func TestPlaceAllRespectsWhatIsKept(t *testing.T) {
	n := makeNode("n", mixed(2))
	n.Held[kit.ID(0, "small", 0)], n.Held[kit.ID(1, "medium", 0)] = "others/1", "others/2"
	r := NewRoom([]Node{n})
	if !r.Keep([]Ask{makeAsk(t, "head", "large")}) {
		t.Fatal("nothing was kept")
	}
	before := r.byName["n"].kept.Clone()
	if _, why := r.PlaceAll([]Ask{makeAsk(t, "1", "medium"), makeAsk(t, "2", "medium")}); why == nil || why.Reason != api.ReasonKeptForEarlier {
		t.Errorf("two medium ones, where the room of one is kept: %v", why)
	}
	after := r.byName["n"].kept
	if !slices.Equal(before.Left, after.Left) || !slices.Equal(before.Marks, after.Marks) {
		t.Error("the search has changed what is kept")
	}
}
