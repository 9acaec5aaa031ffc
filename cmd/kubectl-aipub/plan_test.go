// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// gpuOf is a planned GPU by node and index.
func gpuOf(t *testing.T, p *plan, node string, index int) plannedGPU {
	t.Helper()
	for _, n := range p.Nodes {
		for _, g := range n.GPUs {
			if n.Name == node && g.Index == index {
				return g
			}
		}
	}
	t.Fatalf("node %s has no GPU %d in the plan", node, index)
	return plannedGPU{}
}

func mustPlan(t *testing.T, policy api.PartitionPolicy, w *world) *plan {
	t.Helper()
	p, err := makePlan(policy, w.facts, clock)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func changeOf(p *plan, set string) string {
	i := slices.IndexFunc(p.Sets, func(s plannedSet) bool { return s.Name == set })
	if i < 0 {
		return ""
	}
	return p.Sets[i].Change
}

func TestPlanOfWhatIsInForceChangesNothing(t *testing.T) {
	w := freshWorld(t)
	w.apply(t, policyOf(t, "policy.yaml"))
	p := mustPlan(t, w.policies.Items[0], w)
	for _, s := range p.Sets {
		if s.Change != setSame {
			t.Errorf("set %s: %s", s.Name, s.Change)
		}
	}
	for _, n := range p.Nodes {
		for _, g := range n.GPUs {
			if g.Change != "" || len(n.Leaving) > 0 {
				t.Errorf("node %s GPU %d: %q, leaving %v", n.Name, g.Index, g.Change, n.Leaving)
			}
		}
	}
}

func TestPlanCountsAreThoseOfTheNodes(t *testing.T) {
	w := freshWorld(t)
	policy := policyOf(t, "policy.yaml")
	p := mustPlan(t, policy, w)
	w.apply(t, policy)
	for _, s := range w.sets.Items {
		i := slices.IndexFunc(p.Sets, func(ps plannedSet) bool { return ps.Name == s.Name })
		if i < 0 || p.Sets[i].Alone != int(s.Status.Total) || p.Sets[i].Size.CPU.Cmp(s.Spec.CPU) != 0 {
			t.Errorf("set %s: the plan does not say what came of it: %+v", s.Name, s)
		}
	}
}

func TestGPUsThatAreHeldWaitAndOthersDoNot(t *testing.T) {
	p := mustPlan(t, policyOf(t, "changed.yaml"), busyWorld(t))
	held := gpuOf(t, p, "gpu-01", 2)
	if held.Change != "MIG -> Block, when idle" || len(held.Waits) != 1 || held.Waits[0].Holder != "vision/train-7f9c-0/trainer" {
		t.Errorf("a GPU that is held: %+v", held)
	}
	if idle := gpuOf(t, p, "gpu-02", 2); idle.Change != "MIG -> Block" || len(idle.Waits) != 0 {
		t.Errorf("a GPU that is idle: %+v", idle)
	}
	if same := gpuOf(t, p, "gpu-01", 0); same.Change != "" {
		t.Errorf("a GPU whose mode stays: %+v", same)
	}
}

func TestMIGInstancesThatMoveAreACutAnew(t *testing.T) {
	for name, tc := range map[string]struct {
		layout []api.SetCount
		held   string
		waits  int
	}{
		"the held instance has no place":    {[]api.SetCount{{Set: "mig-mid", Count: 2}}, "cut anew, when idle", 1},
		"the held instance is where it was": {[]api.SetCount{{Set: "mig-small", Count: 7}}, "cut anew", 0},
	} {
		t.Run(name, func(t *testing.T) {
			policy := policyOf(t, "policy.yaml")
			policy.Spec.GPUs[1].Layout = tc.layout
			p := mustPlan(t, policy, busyWorld(t))
			if g := gpuOf(t, p, "gpu-01", 2); g.Change != tc.held || len(g.Waits) != tc.waits {
				t.Errorf("held: got %q, waits %v", g.Change, g.Waits)
			}
			if got := gpuOf(t, p, "gpu-02", 2).Change; got != "cut anew" {
				t.Errorf("idle: got %q", got)
			}
		})
	}
}

func TestModeThatNeedsAResetSaysSo(t *testing.T) {
	w := freshWorld(t)
	for i := range w.partitions.Items {
		w.partitions.Items[i].Status.Models[0].MIGLiveToggle = false
	}
	p := mustPlan(t, policyOf(t, "policy.yaml"), w)
	if got := gpuOf(t, p, "gpu-01", 2).Change; got != "cut for the first time, by a GPU reset" {
		t.Errorf("MIG: %q", got)
	}
	if got := gpuOf(t, p, "gpu-01", 0).Change; got != "cut for the first time" {
		t.Errorf("Block: %q", got)
	}
}

func TestHoldersOfSlicesThatGoKeepThem(t *testing.T) {
	w := busyWorld(t)
	policy := policyOf(t, "policy.yaml")
	policy.Spec.Sets = slices.DeleteFunc(policy.Spec.Sets, func(s api.SetTemplate) bool { return s.Name == "small" })
	p := mustPlan(t, policy, w)
	if got := changeOf(p, "small"); got != setLingering {
		t.Errorf("set small: %q", got)
	}
	leaving := p.Nodes[0].Leaving
	if len(leaving) != 1 || leaving[0].Holder != "vision/notebook-kim-0/main" {
		t.Errorf("leaving: %+v", leaving)
	}
}

func TestPoliciesBesideEachOther(t *testing.T) {
	elder := policyOf(t, "policy.yaml")
	for name, tc := range map[string]struct {
		change func(*api.PartitionPolicy, *world)
		check  func(*testing.T, *plan)
	}{
		"a younger one on the same nodes is refused": {
			change: func(p *api.PartitionPolicy, _ *world) { p.Name = "younger" },
			check: func(t *testing.T, p *plan) {
				if len(p.Refused) == 0 || p.Refused[0].Reason != api.ReasonOverlappingPolicies {
					t.Errorf("refused: %+v", p.Refused)
				}
				for _, n := range p.Nodes {
					if n.Skipped != "policy h200 selects it too, and is older" {
						t.Errorf("node %s: %q", n.Name, n.Skipped)
					}
				}
			},
		},
		"the same name with another size is refused": {
			change: func(p *api.PartitionPolicy, w *world) {
				w.addNode("other", map[string]string{"pool": "b"}, cards("other", 1, "NVIDIA L4", false))
				p.Name, p.Spec.NodeSelector.MatchLabels = "younger", map[string]string{"pool": "b"}
				p.Spec.GPUs, p.Spec.Sets = nil, []api.SetTemplate{{Name: "large", GPU: p.Spec.Sets[4].GPU}}
			},
			check: func(t *testing.T, p *plan) {
				if len(p.Refused) != 1 || p.Refused[0].Reason != api.ReasonConflictingSet {
					t.Errorf("refused: %+v", p.Refused)
				}
			},
		},
		"nodes that the selector leaves": {
			change: func(p *api.PartitionPolicy, w *world) {
				w.node("gpu-02").Labels = map[string]string{"aipub.io/pool": "h200", "zone": "a"}
				p.Spec.NodeSelector.MatchLabels["zone"] = "a"
			},
			check: func(t *testing.T, p *plan) {
				if p.Nodes[0].Name != "gpu-01" || !strings.Contains(p.Nodes[0].Skipped, "no longer selects") || p.Nodes[1].Skipped != "" {
					t.Errorf("nodes: %+v", p.Nodes)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := freshWorld(t)
			w.apply(t, elder)
			policy := policyOf(t, "policy.yaml")
			tc.change(&policy, w)
			tc.check(t, mustPlan(t, policy, w))
		})
	}
}
