// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/quota"
)

// scale is a full cluster: 1,000 nodes of 8 GPUs, 20,000 charged pods, 50,000 that
// wait in workloads of some pods each, in 100 projects with quotas of their own.
func scale(perWorkload int, policy api.QueuePolicy) Snapshot {
	const nodes, projects, waiting, charged = 1000, 100, 50000, 20000
	s := Snapshot{Now: noon, Sizes: sizes}
	for i := range nodes {
		s.Nodes = append(s.Nodes, nodeOf(fmt.Sprintf("node-%d", i), 8))
	}
	for i := range projects {
		name := fmt.Sprintf("project-%d", i)
		s.Quotas = append(s.Quotas, projectQuota(name, "small", charged/projects+20))
		for u := range 10 {
			s.Quotas = append(s.Quotas, userQuota(name, fmt.Sprintf("user-%d", u), "small", 40))
		}
		s.Queues = append(s.Queues, queueOf(name, policy, int32(i%3), 600))
	}
	for i := range charged {
		p := pod(fmt.Sprintf("held-%d", i), fmt.Sprintf("project-%d", i%projects), fmt.Sprintf("user-%d", i/projects%10), "small", 60)
		node := &s.Nodes[i%nodes]
		slot := i / nodes
		node.Held[gpu.SliceID(fmt.Sprintf("small-%d-%d", slot/4, slot%4))] = p.Claim.Namespace + "/" + p.Claim.Name
		s.Charged = append(s.Charged, open(quota.Within, fmt.Sprintf("node-%d", i%nodes), p)...)
	}
	for i := range waiting / perWorkload {
		s.Pending = append(s.Pending, pods(fmt.Sprintf("wait-%d", i), fmt.Sprintf("project-%d", i%projects),
			fmt.Sprintf("user-%d", i/projects%10), "small", 30, perWorkload)...)
	}
	return s
}

// BenchmarkDecide measures a decision with 50,000 waiting pods: one in which 256 gates
// are opened, and one in which nothing is, as nearly all are while a cluster is full.
func BenchmarkDecide(b *testing.B) {
	for _, perWorkload := range []int{50, 1} {
		for _, policy := range []api.QueuePolicy{api.FirstAllocating, api.FirstScheduling} {
			s := scale(perWorkload, policy)
			full := s
			full.Quotas = nil
			for _, q := range s.Quotas {
				q = *q.DeepCopy()
				if q.Spec.Scope.User == "" {
					q.Spec.Limits.Sets["small"] = 0
				}
				full.Quotas = append(full.Quotas, q)
			}
			for name, s := range map[string]Snapshot{"opens 256": s, "quota full": full} {
				b.Run(fmt.Sprintf("%s/%s/%d pods a workload", name, policy, perWorkload), func(b *testing.B) {
					var keeper Keeper
					keeper.Decide(s, 256)
					for b.Loop() {
						p := keeper.Decide(s, 256)
						if name == "opens 256" && len(p.Open) != 256 {
							b.Fatalf("opened %d", len(p.Open))
						}
					}
				})
			}
		}
	}
}

// BenchmarkYieldRoom measures a decision in a full cluster in which 4,000 pods borrow,
// and 50,000 pods of 100 projects wait for room of two whole GPUs each.
func BenchmarkYieldRoom(b *testing.B) {
	for _, young := range []bool{false, true} {
		s := scale(50, api.FirstAllocating)
		s.Quotas = nil
		for i := range 100 {
			s.Quotas = append(s.Quotas, lending(userQuota(fmt.Sprintf("project-%d", i), "user-0", "small", 0)))
		}
		for i := range s.Charged {
			if c := &s.Charged[i]; c.Claim.Party.User == "user-0" || c.Claim.Party.User == "user-1" {
				c.Claim.Party.User, c.Grade = "user-0", quota.Borrowed
				if young {
					c.Claim.Since = noon
				}
			}
		}
		for i := range s.Pending {
			sets := map[string]int64{"large": 2}
			s.Pending[i].Claim.Sets, s.Pending[i].Ask.Sets = sets, sets
			s.Pending[i].Claim.Party.User = "user-5"
		}
		for i := range s.Nodes {
			n := &s.Nodes[i]
			for g := range 8 {
				for slot := range 4 {
					if id := gpu.SliceID(fmt.Sprintf("small-%d-%d", g, slot)); g >= 6 {
						n.Held[id] = "" // by others, who are not ours
					}
				}
			}
		}
		b.Run(fmt.Sprintf("young %t", young), func(b *testing.B) {
			var keeper Keeper
			keeper.Decide(s, 256)
			for b.Loop() {
				p := keeper.Decide(s, 256)
				b.ReportMetric(float64(len(p.Yield)), "yields")
				b.ReportMetric(float64(len(p.Open)), "opens")
			}
		})
	}
}
