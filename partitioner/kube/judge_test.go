// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestJudgePolicies(t *testing.T) {
	invalid := makePolicy("bad", "a", 9)
	waiting := applied(makePartition("a1", 2), "p")
	meta.SetStatusCondition(&waiting.Status.Conditions, metav1.Condition{
		Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: api.ReasonWaitingForIdle, Message: "team/pod holds GPU 0"})
	behind := applied(makePartition("a1", 2), "p")
	behind.Status.PolicyGeneration = 0

	cases := map[string]struct {
		snapshot Snapshot
		want     map[string]string // policy → status and reason
		message  string            // part of policy p's message
	}{
		"applied": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p")}},
			map[string]string{"p": "True Applied"}, "applied to 1 nodes",
		},
		"invalid": {Snapshot{Policies: []api.PartitionPolicy{invalid}}, map[string]string{"bad": "False InvalidPolicy"}, ""},
		"no nodes": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))}, Nodes: []corev1.Node{makeNode("b1", "b")}},
			map[string]string{"p": "False NoNodes"}, "aipub.io/pool=a",
		},
		"an agent has not reported": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes:      []corev1.Node{makeNode("a1", "a"), makeNode("a2", "a")},
				Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p"), {ObjectMeta: metav1.ObjectMeta{Name: "a2"}}}},
			map[string]string{"p": "False Pending"}, "1 of 2 nodes to report what they have: a2",
		},
		"an agent has an older generation": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{behind}},
			map[string]string{"p": "False Pending"}, "have yet to carry out generation 1: a1",
		},
		"a node waits for idle GPUs": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{waiting}},
			map[string]string{"p": "False WaitingForIdle"}, "node a1: team/pod holds GPU 0",
		},
		"a set fits nowhere": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1), whole("huge", 8))},
				Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p")}},
			map[string]string{"p": "False SetDoesNotFit"}, "spec.sets[1].gpu.count",
		},
		"the elder of two that select a node holds there": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 1, whole("one", 1)), makePolicy("old", "a", 9, whole("two", 2))},
				Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{applied(makePartition("a1", 2), "old")}},
			map[string]string{"p": "False OverlappingPolicies", "old": "True Applied"}, `"old" is older`,
		},
		"a name with two meanings": {
			Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 1, whole("large", 1)), makePolicy("old", "b", 9, whole("large", 2))},
				Nodes: []corev1.Node{makeNode("a1", "a"), makeNode("b1", "b")},
				Partitions: []api.NodePartition{
					applied(makePartition("a1", 2), "p"), applied(makePartition("b1", 2), "old")}},
			map[string]string{"p": "False ConflictingSet", "old": "True Applied"}, "rename",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Now = noon
			out := Judge(tc.snapshot)
			got := map[string]string{}
			for policy, status := range out.Policies {
				got[policy] = ready(status.Conditions)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			if c := meta.FindStatusCondition(out.Policies["p"].Conditions, api.ConditionReady); c != nil && !strings.Contains(c.Message, tc.message) {
				t.Errorf("message %q lacks %q", c.Message, tc.message)
			}
		})
	}
}

func TestJudgeSets(t *testing.T) {
	held := applied(makePartition("a1", 2), "p", api.SetOnNode{Name: "old", Total: 1, Held: 1})
	held.Status.Slices = []api.NodeSlice{{ID: "x", Set: "old", Holder: &api.Holder{Namespace: "team", Pod: "train-0"}}}
	offering := func(name string) corev1.Node {
		n := makeNode(name, "a")
		n.Status.Allocatable["aipub.io/set-large"] = resource.MustParse("4")
		return n
	}
	pool := []corev1.Node{offering("a1"), offering("a2")}
	unready, cordoned, pluginLost, neverOffered := offering("a1"), offering("a2"), offering("a3"), makeNode("a4", "a")
	unready.Status.Conditions[0].Status = corev1.ConditionUnknown
	cordoned.Spec.Unschedulable = true
	pluginLost.Status.Allocatable["aipub.io/set-large"] = resource.MustParse("0")
	count := func(total, free, held int32) api.SetOnNode {
		return api.SetOnNode{Name: "large", Total: total, Free: free, Held: held}
	}

	cases := map[string]struct {
		snapshot Snapshot
		want     map[string]string // set → cpu memory [policies] total/free/held condition
		obsolete []string
	}{
		"even division over a pool, counts summed up": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))}, Nodes: pool,
				Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p", count(2, 1, 1)), applied(makePartition("a2", 4), "p", count(4, 4, 0))}},
			want: map[string]string{"large": "16 128Gi [p] 6/5/1 True Applied"},
		},
		"two policies agree": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 1, whole("large", 1)), makePolicy("q", "b", 9, whole("large", 1))},
				Nodes:      []corev1.Node{makeNode("a1", "a"), makeNode("b1", "b")},
				Partitions: []api.NodePartition{makePartition("a1", 2), makePartition("b1", 2)}},
			want: map[string]string{"large": "32 256Gi [q p] 0/0/0 False Pending"},
		},
		"two policies disagree: the elder's holds": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 1, whole("large", 1)), makePolicy("q", "b", 9, whole("large", 2))},
				Nodes:      []corev1.Node{makeNode("a1", "a"), makeNode("b1", "b")},
				Partitions: []api.NodePartition{makePartition("a1", 2), makePartition("b1", 2)}},
			want: map[string]string{"large": "64 512Gi [q] 0/0/0 False Pending"},
		},
		"nothing is free where the scheduler cannot go": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes: []corev1.Node{unready, cordoned, pluginLost, neverOffered},
				Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p", count(2, 2, 0)),
					applied(makePartition("a2", 2), "p", count(2, 2, 0)), applied(makePartition("a3", 2), "p", count(2, 2, 0)), applied(makePartition("a4", 2), "p", count(2, 2, 0))}},
			want: map[string]string{"large": "32 256Gi [p] 8/0/0 True Applied"},
		},
		"nothing is free on a node that no policy selects any more and whose kubelet offers nothing": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))},
				Nodes:      []corev1.Node{offering("a1"), makeNode("b1", "b")},
				Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p", count(2, 1, 1)), applied(makePartition("b1", 2), "p", count(2, 2, 0))}},
			want: map[string]string{"large": "32 256Gi [p] 4/1/1 True Applied"},
		},
		"a pool without nodes keeps the size": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))}, Sets: []api.ResourceSet{makeSet("large", "16", "128Gi", "p")}},
			want:     map[string]string{"large": "16 128Gi [p] 0/0/0 False Pending"},
		},
		"a set that never had a node does not exist": {
			snapshot: Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))}},
			want:     map[string]string{},
		},
		"no policy and no holder: obsolete": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Nodes: pool, Partitions: []api.NodePartition{makePartition("a1", 2)}},
			want:     map[string]string{}, obsolete: []string{"old"},
		},
		"no policy but a holder: kept, and said why": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Nodes: pool, Partitions: []api.NodePartition{held}},
			want:     map[string]string{"old": "16 128Gi [] 1/0/1 False WaitingForIdle"},
		},
		"no policy and no holder, but a pod that is charged: kept, and said why": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Nodes: pool, Charged: map[string]int64{"old": 2}},
			want:     map[string]string{"old": "16 128Gi [] 0/0/0 False WaitingForIdle"},
		},
		"a pod that is charged for another set": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Nodes: pool, Charged: map[string]int64{"new": 2}},
			want:     map[string]string{}, obsolete: []string{"old"},
		},
		"not all pods are known": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Nodes: pool, Unsure: true},
			want:     map[string]string{"old": "16 128Gi [] 0/0/0 False WaitingForIdle"},
		},
		"a holder on a node that is gone holds nothing": {
			snapshot: Snapshot{Sets: []api.ResourceSet{makeSet("old", "16", "128Gi", "p")}, Partitions: []api.NodePartition{held}},
			want:     map[string]string{}, obsolete: []string{"old"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Now = noon
			out := Judge(tc.snapshot)
			got := map[string]string{}
			for set, o := range out.Sets {
				got[set] = fmt.Sprintf("%s %s %v %d/%d/%d %s", o.Spec.CPU.String(), o.Spec.Memory.String(), o.Spec.Policies,
					o.Status.Total, o.Status.Free, o.Status.Held, ready(o.Status.Conditions))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("sets (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.obsolete, out.Obsolete); diff != "" {
				t.Errorf("obsolete (-want +got):\n%s", diff)
			}
		})
	}
	out := Judge(Snapshot{Sets: []api.ResourceSet{makeSet("old", "1", "1Gi")}, Nodes: pool, Partitions: []api.NodePartition{held}, Now: noon})
	c := meta.FindStatusCondition(out.Sets["old"].Status.Conditions, api.ConditionReady)
	if !strings.Contains(c.Message, "team/train-0 on node a1") {
		t.Errorf("the message does not name the holder: %s", c.Message)
	}
}

func TestJudgeCountsSetsInUnits(t *testing.T) {
	seventh := api.SetTemplate{Name: "m", GPU: &api.SetGPU{MIG: &api.MIGSize{ComputeSlices: 1}}}
	known := makeSet("m", "4", "32Gi", "p")
	known.Spec.GPU, known.Spec.GPUUnits = seventh.GPU, 3600
	older := makeSet("m", "4", "32Gi", "p")
	older.Spec.GPU = seventh.GPU
	holding := makePartition("a1", 1)
	holding.Status.Sets = []api.SetOnNode{{Name: "m", Total: 1, Held: 1}}
	mig := makePolicy("p", "a", 9, seventh)
	mig.Spec.GPUs = []api.GPURule{{Mode: api.GPUMIG}}
	for name, tc := range map[string]struct {
		snapshot Snapshot
		set      string
		want     int64
	}{
		"from the division": {Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 2))},
			Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{makePartition("a1", 2)}}, "large", 50400},
		"without nodes, whole GPUs are counted":       {Snapshot{Policies: []api.PartitionPolicy{makePolicy("p", "a", 9, whole("large", 1))}, Sets: []api.ResourceSet{makeSet("large", "16", "128Gi", "p")}}, "large", 25200},
		"without nodes, a fraction stays as it was":   {Snapshot{Policies: []api.PartitionPolicy{mig}, Sets: []api.ResourceSet{known}}, "m", 3600},
		"a set that is kept for its holders too":      {Snapshot{Sets: []api.ResourceSet{older}, Nodes: []corev1.Node{makeNode("a1", "a")}, Partitions: []api.NodePartition{holding}}, "m", 25200},
		"a fraction that was never known is the most": {Snapshot{Policies: []api.PartitionPolicy{mig}, Sets: []api.ResourceSet{older}}, "m", 25200},
	} {
		t.Run(name, func(t *testing.T) {
			tc.snapshot.Now = noon
			if got := Judge(tc.snapshot).Sets[tc.set].Spec.GPUUnits; got != tc.want {
				t.Errorf("set %s counts %d units, want %d", tc.set, got, tc.want)
			}
		})
	}
}

func TestJudgeFindsOrphans(t *testing.T) {
	out := Judge(Snapshot{Nodes: []corev1.Node{makeNode("a1", "a")}, Now: noon,
		Partitions: []api.NodePartition{makePartition("gone", 1), makePartition("a1", 1)}})
	if diff := cmp.Diff([]string{"gone"}, out.Orphans); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}

// A round on its own results must find nothing to do, or the controller would
// write for ever.
func TestJudgeIsStable(t *testing.T) {
	s := Snapshot{Now: noon,
		Policies: []api.PartitionPolicy{
			makePolicy("p", "a", 9, whole("large", 1), whole("huge", 16)), makePolicy("q", "a", 1, whole("large", 2)), makePolicy("r", "none", 1, whole("x", 1))},
		Nodes:      []corev1.Node{makeNode("a1", "a"), makeNode("a2", "a")},
		Partitions: []api.NodePartition{applied(makePartition("a1", 2), "p", api.SetOnNode{Name: "large", Total: 2, Free: 2}), makePartition("a2", 4)},
	}
	first := Judge(s)
	for i := range s.Policies {
		s.Policies[i].Status = first.Policies[s.Policies[i].Name]
	}
	for name, set := range first.Sets {
		s.Sets = append(s.Sets, api.ResourceSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: set.Spec, Status: set.Status})
	}
	s.Now = metav1.NewTime(noon.AddDate(0, 0, 1))
	if diff := cmp.Diff(first, Judge(s)); diff != "" {
		t.Errorf("the second round differs (-first +second):\n%s", diff)
	}
}

func TestPartitionMatters(t *testing.T) {
	cases := map[string]struct {
		change func(*api.NodePartition)
		want   bool
	}{
		"a version alone": {func(p *api.NodePartition) { p.ResourceVersion = "2" }, false},
		"activity":        {func(p *api.NodePartition) { p.Status.Slices[0].Activity = &api.SliceActivity{At: noon} }, false},
		"share":           {func(p *api.NodePartition) { p.Status.Slices[0].Share = &api.SliceShare{UsedPercent: 5} }, false},
		"holder":          {func(p *api.NodePartition) { p.Status.Slices[0].Holder = &api.Holder{Pod: "b"} }, true},
		"counts":          {func(p *api.NodePartition) { p.Status.Sets[0].Free = 0 }, true},
		"health":          {func(p *api.NodePartition) { p.Status.GPUs[0].Health.OK = false }, true},
		"made anew":       {func(p *api.NodePartition) { p.UID = "2" }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := applied(makePartition("a1", 1), "p", api.SetOnNode{Name: "small", Total: 1, Free: 1})
			before.Status.Slices = []api.NodeSlice{{ID: "s", Set: "small", State: "Held", Activity: &api.SliceActivity{Since: noon}}}
			after := before.DeepCopy()
			tc.change(after)
			if got := partitionMatters(&before, after); got != tc.want {
				t.Errorf("partitionMatters: %v, want %v", got, tc.want)
			}
			if before.Status.Slices[0].Activity == nil {
				t.Error("the object itself was changed")
			}
		})
	}
}

func TestNodeMatters(t *testing.T) {
	cases := map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"heartbeat":  {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = noon }, false},
		"image list": {func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}} }, false},
		"label":      {func(n *corev1.Node) { n.Labels = map[string]string{"aipub.io/pool": "b"} }, true},
		"cordon":     {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"not ready":  {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, true},
		"cpu":        {func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("63") }, true},
		"plugin":     {func(n *corev1.Node) { n.Status.Allocatable["aipub.io/set-x"] = resource.MustParse("0") }, true},
		"other gpu":  {func(n *corev1.Node) { n.Status.Allocatable["example.com/x"] = resource.MustParse("1") }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := makeNode("a1", "a")
			after := before.DeepCopy()
			tc.change(after)
			if got := nodeMatters(&before, after); got != tc.want {
				t.Errorf("nodeMatters: %v, want %v", got, tc.want)
			}
		})
	}
}
