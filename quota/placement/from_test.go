// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/test/kit"
)

// reported is the NodePartition that the agent of a node writes.
func reported(t *testing.T, n Node) *api.NodePartition {
	t.Helper()
	snap := snapshotOf(t, n, heldOn(n, nil))
	p := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: n.Name}, Status: api.NodePartitionStatus{
		AgentVersion: "test", Counters: kube.Counters(snap), Slices: kube.Slices(snap)}}
	numa := map[string]*int32{}
	for _, s := range n.Layout.Slices {
		if len(s.GPUs) == 1 && len(s.NUMANodes) == 1 {
			at := int32(s.NUMANodes[0])
			numa[s.GPUs[0]] = &at
		}
	}
	for uuid, mode := range n.Layout.Modes {
		p.Status.GPUs = append(p.Status.GPUs, api.NodeGPU{UUID: uuid, Mode: api.GPUMode(mode), NUMANode: numa[uuid]})
	}
	for i := range p.Status.Slices {
		s := &p.Status.Slices[i]
		if whom, held := n.Held[gpu.SliceID(s.ID)]; held {
			namespace, pod, _ := strings.Cut(whom, "/")
			s.Holder = &api.Holder{Namespace: namespace, Pod: pod}
		}
	}
	raw, err := json.Marshal(p) // as it comes from the API server
	if err != nil {
		t.Fatal(err)
	}
	out := &api.NodePartition{}
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// offering is a ready Node whose kubelet offers the given sets.
func offering(name string, sets ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}, Allocatable: corev1.ResourceList{}}}
	for _, set := range sets {
		n.Status.Allocatable[corev1.ResourceName(gpu.ResourceName(set))] = resource.MustParse("1")
	}
	return n
}

// What goes through the NodePartition is decided as by the agent's own layout.
func TestNodeFromLosesNothing(t *testing.T) {
	compared := 0
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 11))
		want := randomNodes(r)[0]
		got := NodeFrom(reported(t, want), offering(want.Name, want.Layout.Sets()...))
		if len(want.Layout.Slices) > 0 && !got.Usable {
			t.Fatalf("seed %d: not usable: %s", seed, got.Unusable)
		}
		if diff := cmp.Diff(want.Held, got.Held); diff != "" {
			t.Fatalf("seed %d: held (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(want.Down, got.Down); diff != "" {
			t.Fatalf("seed %d: down (-want +got):\n%s", seed, diff)
		}
		for _, set := range want.Layout.Sets() {
			a := Ask{UID: "p", Sets: map[string]int64{set: int64(1 + r.IntN(3))}}
			wantSeat, wantWhy := NewRoom([]Node{want}).Place(a)
			gotSeat, gotWhy := NewRoom([]Node{got}).Place(a)
			if diff := cmp.Diff(wantSeat, gotSeat); diff != "" || (wantWhy == nil) != (gotWhy == nil) {
				t.Fatalf("seed %d: %v (-layout +report): %v, %v\n%s", seed, a.Sets, wantWhy, gotWhy, diff)
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("compared %d times only", compared)
	}
}

func TestNodeFromSaysWhyANodeIsNotUsable(t *testing.T) {
	full := makeNode("n", mixed(1))
	full.Held[kit.ID(0, "large", 0)] = "others/pod"
	p := reported(t, makeNode("n", mixed(1)))
	older, empty := p.DeepCopy(), &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	older.Status.Counters = nil
	notReady, cordoned, leaving := offering("n", "small"), offering("n", "small"), offering("n", "small")
	notReady.Status.Conditions[0].Status = corev1.ConditionUnknown
	cordoned.Spec.Unschedulable = true
	now := metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	leaving.DeletionTimestamp = &now
	for name, tc := range map[string]struct {
		partition *api.NodePartition
		node      *corev1.Node
		want      string
	}{
		"usable":                     {p, offering("n", "small", "medium", "large"), ""},
		"no node":                    {p, nil, "no such node"},
		"no report":                  {nil, offering("n", "small"), "not reported"},
		"an empty report":            {empty, offering("n", "small"), "not reported"},
		"an older agent":             {older, offering("n", "small"), "too old to report counters; update it"},
		"not ready":                  {p, notReady, "not ready"},
		"cordoned":                   {p, cordoned, "cordoned"},
		"being deleted":              {p, leaving, "deleted"},
		"the plugin is gone":         {p, offering("n"), "offers none"},
		"and while a pod runs on":    {reported(t, full), offering("n"), "offers none"},
		"all of a set is blocked":    {reported(t, full), offering("n", "large"), ""},
		"one set was not heard yet":  {p, offering("n", "small"), ""},
		"nothing is there to offer":  {reported(t, makeNode("n", gpu.Layout{})), offering("n"), ""},
		"neither object, not even a": {nil, nil, "no such node"},
	} {
		t.Run(name, func(t *testing.T) {
			n := NodeFrom(tc.partition, tc.node)
			if n.Usable != (tc.want == "") || !strings.Contains(n.Unusable, tc.want) {
				t.Errorf("usable %v, %q; want %q", n.Usable, n.Unusable, tc.want)
			}
		})
	}
	n := NodeFrom(p, offering("n", "small"))
	if diff := cmp.Diff(map[string]bool{"medium": true, "large": true}, n.NotOffered); diff != "" {
		t.Errorf("sets that the kubelet has not heard of (-want +got):\n%s", diff)
	}
	if n := NodeFrom(reported(t, full), offering("n", "large")); len(n.NotOffered) > 0 {
		t.Errorf("%v are blocked rightly, and are said not to be offered", n.NotOffered)
	}
	if n.Labels["zone"] != "a" || n.Name != "n" {
		t.Errorf("node %q has labels %v", n.Name, n.Labels)
	}
}

// What is held from before a change counts, and nothing else is given of a GPU of
// which the counters say nothing any more.
func TestNodeFromCountsWhatThePolicyNoLongerHas(t *testing.T) {
	p := reported(t, makeNode("n", mixed(2)))
	retire := func(uses map[string]int64) Node {
		changed := p.DeepCopy()
		changed.Status.Slices = append(changed.Status.Slices, api.NodeSlice{ID: "old-1", Set: "old", GPUs: []string{kit.UUID(0)},
			State: api.SliceState(gpu.StateRetired), Holder: &api.Holder{Namespace: "team", Pod: "old"}, Uses: uses})
		return NodeFrom(changed, offering("n", "small", "medium", "large"))
	}
	counted := retire(map[string]int64{string(kit.Blocks(0)): 60})
	foreign := retire(map[string]int64{"gpu/1/mig-compute": 2})
	for name, tc := range map[string]struct {
		node Node
		sets string
		want bool
	}{
		"a quarter fits beside it":             {counted, "small=5", true},
		"a half does not":                      {counted, "medium=3", false},
		"nothing fits beside what is foreign":  {foreign, "small=5", false},
		"the other GPU has nothing to do with": {foreign, "small=4", true},
		"the old set is not given":             {counted, "old", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, why := NewRoom([]Node{tc.node}).Place(makeAsk(t, "p", tc.sets))
			if (why == nil) != tc.want {
				t.Errorf("place %s: %v, want room %v", tc.sets, why, tc.want)
			}
		})
	}
}
