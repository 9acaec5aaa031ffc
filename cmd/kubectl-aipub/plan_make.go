// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner"
	partitionerkube "aipub.io/aipub/partitioner/kube"
)

// planner works out what a policy would make of a cluster. It is the
// controller's and the agents' own decision on the facts with the policy put in.
type planner struct {
	policy   api.PartitionPolicy
	facts    facts
	policies []api.PartitionPolicy // with the policy in its place
	outcome  partitionerkube.Outcome
	sets     []partitioner.Set
}

// makePlan returns the plan, or the mistakes of a policy that cannot be meant.
func makePlan(policy api.PartitionPolicy, f facts, now time.Time) (*plan, error) {
	if errs := partitioner.Validate(policy.Spec); len(errs) > 0 {
		m := &mistakes{where: "policy " + policy.Name}
		for _, e := range errs {
			m.lines = append(m.lines, e.Error())
		}
		return nil, m
	}
	p := &planner{policy: policy, facts: f}
	p.putIn(now)
	p.outcome = partitionerkube.Judge(partitionerkube.Snapshot{
		Policies: p.policies, Nodes: f.nodes.Items, Partitions: f.partitions.Items, Sets: f.sets.Items,
		Now: metav1.NewTime(now),
	})
	for _, t := range policy.Spec.Sets {
		if s, ok := p.outcome.Sets[t.Name]; ok && slices.Contains(s.Spec.Policies, policy.Name) {
			p.sets = append(p.sets, partitioner.SetOf(t.Name, s.Spec))
		}
	}
	out := &plan{
		APIVersion: planVersion, Kind: "Plan",
		Policy: policy.Name, Selector: metav1.FormatLabelSelector(&policy.Spec.NodeSelector),
		Refused: p.outcome.Policies[policy.Name].Rejections,
		Nodes:   p.nodes(),
	}
	out.Sets = p.plannedSets(out.Nodes)
	return out, nil
}

// putIn puts the policy in the place of the one that has its name, with that
// one's age; one that is new is the youngest.
func (p *planner) putIn(now time.Time) {
	p.policies = slices.Clone(p.facts.policies.Items)
	i := slices.IndexFunc(p.policies, func(q api.PartitionPolicy) bool { return q.Name == p.policy.Name })
	if i < 0 {
		p.policy.CreationTimestamp = metav1.NewTime(now)
		p.policies = append(p.policies, p.policy)
		return
	}
	p.policy.CreationTimestamp = p.policies[i].CreationTimestamp
	p.policies[i] = p.policy
}

// nodes are those that the policy selects and those that are its own now.
func (p *planner) nodes() []plannedNode {
	partitions := map[string]*api.NodePartition{}
	for i := range p.facts.partitions.Items {
		partitions[p.facts.partitions.Items[i].Name] = &p.facts.partitions.Items[i]
	}
	var out []plannedNode
	for _, m := range partitionerkube.Members(p.facts.nodes.Items, p.facts.partitions.Items) {
		np := partitions[m.Name]
		winner, others := partitioner.Govern(p.policies, m.Labels)
		switch {
		case winner != nil && winner.Name == p.policy.Name && !m.Reported:
			out = append(out, plannedNode{Name: m.Name, Skipped: "its agent has not reported what it has; " + agentHint(m.Name)})
		case winner != nil && winner.Name == p.policy.Name:
			out = append(out, p.node(m.Node, np))
		case slices.ContainsFunc(others, func(o api.PartitionPolicy) bool { return o.Name == p.policy.Name }):
			out = append(out, plannedNode{Name: m.Name, Skipped: "policy " + winner.Name + " selects it too, and is older"})
		case np != nil && np.Status.Policy == p.policy.Name:
			out = append(out, p.leavingNode(np, winner))
		}
	}
	return out
}

// node plans one node as its agent will.
func (p *planner) node(n partitioner.Node, np *api.NodePartition) plannedNode {
	layout, report := partitioner.Plan(n, p.policy.Spec, p.sets)
	now := presentOf(np)
	out := plannedNode{
		Name:        n.Name,
		Allocatable: host(n.CPUMilli, n.MemoryBytes),
		Unused:      host(report.Remainder.CPUMilli, report.Remainder.MemoryBytes),
		Absent:      report.Absent,
		Leaving:     now.leaving(layout),
	}
	if r := p.policy.Spec.Reserve; r.CPU != nil || r.Memory != nil {
		out.Reserved = &hostPart{}
		if r.CPU != nil {
			out.Reserved.CPU = *r.CPU
		}
		if r.Memory != nil {
			out.Reserved.Memory = *r.Memory
		}
	}
	for _, s := range report.Sets {
		i := slices.IndexFunc(p.sets, func(t partitioner.Set) bool { return t.Name == s.Name })
		if i < 0 {
			continue
		}
		out.Sets = append(out.Sets, nodeSet{Name: s.Name, Together: s.Together, Alone: s.Alone, Lost: s.Lost, CPUOnly: p.sets[i].GPU == nil})
	}
	out.GPUs = plannedGPUs(n, np, layout, report)
	return out
}

// leavingNode is a node that the policy no longer selects.
func (p *planner) leavingNode(np *api.NodePartition, winner *api.PartitionPolicy) plannedNode {
	out := plannedNode{Name: np.Name, Skipped: "the policy no longer selects it; its sets are removed"}
	if winner != nil {
		out.Skipped = "it goes over to policy " + winner.Name
	}
	for _, s := range np.Status.Slices {
		if isHeld(s) {
			out.Leaving = append(out.Leaving, heldOf(s))
		}
	}
	return out
}

// plannedSets are the sets of the policy, then those that it no longer has.
func (p *planner) plannedSets(nodes []plannedNode) []plannedSet {
	var out []plannedSet
	for _, s := range p.sets {
		spec := s.Spec()
		ps := plannedSet{Name: s.Name, Size: sizeOf(spec), Change: setNew}
		for _, n := range nodes {
			for _, c := range n.Sets {
				if c.Name == s.Name {
					ps.Together, ps.Alone = ps.Together+c.Together, ps.Alone+c.Alone
				}
			}
		}
		if now, ok := p.setNow(s.Name); ok {
			ps.Change = setSame
			if was := sizeOf(now.Spec); !equality.Semantic.DeepEqual(was, ps.Size) {
				ps.Change, ps.Was = setResized, was
			}
		}
		out = append(out, ps)
	}
	for _, now := range p.facts.sets.Items {
		if change := p.goes(now); change != "" {
			out = append(out, plannedSet{Name: now.Name, Was: sizeOf(now.Spec), Change: change})
		}
	}
	return out
}

// goes says how a set of the cluster that the policy has now comes to its end;
// empty when it does not.
func (p *planner) goes(now api.ResourceSet) string {
	if !slices.Contains(now.Spec.Policies, p.policy.Name) {
		return ""
	}
	next, stays := p.outcome.Sets[now.Name]
	switch {
	case !stays:
		return setRemoved
	case len(next.Spec.Policies) == 0:
		return setLingering
	}
	return ""
}

func (p *planner) setNow(name string) (api.ResourceSet, bool) {
	i := slices.IndexFunc(p.facts.sets.Items, func(s api.ResourceSet) bool { return s.Name == name })
	if i < 0 {
		return api.ResourceSet{}, false
	}
	return p.facts.sets.Items[i], true
}

func sizeOf(s api.ResourceSetSpec) *size { return &size{CPU: s.CPU, Memory: s.Memory, GPU: s.GPU} }

func host(cpuMilli, memoryBytes int64) *hostPart {
	return &hostPart{
		CPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
		Memory: *resource.NewQuantity(memoryBytes, resource.BinarySI),
	}
}

// noNodes is the sentence for a policy whose selector matches nothing, with the
// labels that it could have meant.
func noNodes(p *plan, nodes []corev1.Node) string {
	keys := map[string]bool{}
	var have []string
	for _, n := range nodes {
		for k, v := range n.Labels {
			if label := k + "=" + v; strings.HasPrefix(k, "aipub.io/") && !keys[label] {
				keys[label] = true
				have = append(have, label)
			}
		}
	}
	slices.Sort(have)
	s := fmt.Sprintf("no node matches spec.nodeSelector (%s)", p.Selector)
	if len(have) > 0 {
		s += "; the nodes have the labels " + strings.Join(have, ", ")
	}
	return s + "; label nodes with kubectl label node NAME KEY=VALUE"
}
