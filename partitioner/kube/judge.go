// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner"
)

// Snapshot is everything that Judge looks at, as it was at one moment.
type Snapshot struct {
	Policies   []api.PartitionPolicy
	Nodes      []corev1.Node
	Partitions []api.NodePartition
	Sets       []api.ResourceSet
	// Charged counts the pods that are charged for each set: their gate is open and
	// they have not ended, whether or not a slice is theirs yet. Unsure is true while
	// not all of them are known; then no set is obsolete.
	Charged map[string]int64
	Unsure  bool
	// Now stamps the conditions that change.
	Now metav1.Time
}

// Outcome is what the cluster's objects should be.
type Outcome struct {
	// Policies are the statuses, by name.
	Policies map[string]api.PartitionPolicyStatus
	// Sets are the ResourceSets that should exist, by name.
	Sets map[string]SetOutcome
	// Obsolete are ResourceSets that no policy defines, nobody holds and nobody is
	// charged for: what a pod is charged is worked out with the size in its ResourceSet.
	Obsolete []string
	// Unheld is true when a set is kept for pods alone, of whose end no node tells.
	Unheld bool
	// Orphans are NodePartitions whose Node is gone.
	Orphans []string
}

// SetOutcome is one ResourceSet.
type SetOutcome struct {
	Spec   api.ResourceSetSpec
	Status api.ResourceSetStatus
}

// scene is a snapshot that was looked over once: who selects and governs which
// node, and what each policy makes of its own.
type scene struct {
	Snapshot
	members []Member
	nodes   map[string]*corev1.Node
	elders  []api.PartitionPolicy
	pools   map[string]*pool
}

// pool is one policy with its nodes.
type pool struct {
	policy *api.PartitionPolicy
	// selected are all nodes that its selector matches, governed those of them
	// on which no older policy stands, both by name.
	selected, governed []string
	// silent are governed nodes that have not reported yet, reported the others.
	silent   []string
	reported []partitioner.Node
	// division is over the governed nodes that have.
	division  partitioner.Division
	conflicts []partitioner.Conflict
	invalid   string
}

// Judge decides what ResourceSets and statuses should be. It is pure: equal
// snapshots give equal outcomes.
func Judge(s Snapshot) Outcome {
	sc := survey(s)
	out := Outcome{Policies: map[string]api.PartitionPolicyStatus{}, Sets: map[string]SetOutcome{}}
	for _, p := range sc.pools {
		out.Policies[p.policy.Name] = sc.policyStatus(p)
	}
	definitions := sc.definitions()
	for name, spec := range definitions {
		out.Sets[name] = SetOutcome{Spec: spec, Status: sc.setStatus(name, spec)}
	}
	for _, set := range s.Sets {
		if _, defined := definitions[set.Name]; defined {
			continue
		}
		spec := set.Spec
		spec.GPUUnits = keptUnits(spec, spec.GPU)
		spec.Policies = nil
		status := sc.setStatus(set.Name, spec)
		switch {
		case status.Held > 0:
			out.Sets[set.Name] = SetOutcome{Spec: spec, Status: status}
		case s.Unsure || s.Charged[set.Name] > 0:
			out.Sets[set.Name] = SetOutcome{Spec: spec, Status: status}
			out.Unheld = true
		default:
			out.Obsolete = append(out.Obsolete, set.Name)
		}
	}
	out.Orphans = sc.orphans()
	slices.Sort(out.Obsolete)
	return out
}

func survey(s Snapshot) *scene {
	sc := &scene{
		Snapshot: s,
		members:  Members(s.Nodes, s.Partitions),
		nodes:    map[string]*corev1.Node{},
		elders:   partitioner.Elders(s.Policies),
		pools:    map[string]*pool{},
	}
	for i := range s.Nodes {
		sc.nodes[s.Nodes[i].Name] = &s.Nodes[i]
	}
	for i := range sc.elders {
		policy := &sc.elders[i]
		p := &pool{policy: policy}
		if errs := partitioner.Validate(policy.Spec); len(errs) > 0 {
			p.invalid = errs.ToAggregate().Error()
		}
		sc.pools[policy.Name] = p
	}
	sc.assign()
	sc.divide()
	return sc
}

// assign says which policy has which node.
func (sc *scene) assign() {
	for _, m := range sc.members {
		winner, others := partitioner.Govern(sc.elders, m.Labels)
		if winner == nil {
			continue
		}
		p := sc.pools[winner.Name]
		p.selected = append(p.selected, m.Name)
		p.governed = append(p.governed, m.Name)
		if m.Reported {
			p.reported = append(p.reported, m.Node)
		} else {
			p.silent = append(p.silent, m.Name)
		}
		for _, other := range others {
			sc.pools[other.Name].selected = append(sc.pools[other.Name].selected, m.Name)
		}
	}
}

// divide has every valid policy divided over the nodes that it governs, and
// finds the conflicts. Sizes come from governed nodes only, but a policy is told
// of every node that it selects and another holds.
func (sc *scene) divide() {
	claims := map[string]partitioner.Division{}
	for name, p := range sc.pools {
		if p.invalid != "" {
			continue
		}
		if len(p.reported) > 0 {
			p.division = partitioner.Divide(p.policy.Spec, p.reported)
		}
		claim := partitioner.Division{Sets: p.division.Sets}
		for _, node := range p.selected {
			claim.Nodes = append(claim.Nodes, partitioner.NodeDivision{Name: node})
		}
		claims[name] = claim
	}
	for _, c := range partitioner.Conflicts(sc.Policies, claims) {
		p := sc.pools[c.Policy]
		p.conflicts = append(p.conflicts, c)
	}
}

// orphans lists the NodePartitions without a Node.
func (sc *scene) orphans() []string {
	var names []string
	for _, p := range sc.Partitions {
		if sc.nodes[p.Name] == nil {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}
