// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "aipub.io/aipub/api/v1alpha1"
)

// Conflict is a policy that cannot stand beside an older one.
type Conflict struct {
	// Policy is refused because of With, which is older.
	Policy, With string
	// Rejection has reason ConflictingSet or OverlappingPolicies.
	Rejection api.Rejection
}

// Elders orders policies: the oldest first, by name where they are as old.
func Elders(policies []api.PartitionPolicy) []api.PartitionPolicy {
	sorted := slices.Clone(policies)
	slices.SortStableFunc(sorted, func(a, b api.PartitionPolicy) int {
		return cmp.Or(
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	})
	return sorted
}

// Govern finds the policy that holds for a node with the given labels: the
// eldest of those that select it. others are the younger ones, which it
// overrules there. A policy whose selector is empty or malformed selects
// nothing.
func Govern(policies []api.PartitionPolicy, nodeLabels map[string]string) (winner *api.PartitionPolicy, others []api.PartitionPolicy) {
	for _, p := range Elders(policies) {
		switch {
		case !selects(p.Spec.NodeSelector, nodeLabels):
		case winner == nil:
			winner = &p
		default:
			others = append(others, p)
		}
	}
	return winner, others
}

func selects(s metav1.LabelSelector, nodeLabels map[string]string) bool {
	if len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0 {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	return err == nil && selector.Matches(labels.Set(nodeLabels))
}

// Conflicts finds the policies that contradict an older one: they define a set
// of the same name with another result, or divide a node that it divides.
// divisions are by policy name; a policy without division takes no part.
//
// Each set name and each node is in conflict with the eldest policy that has
// it, and each pair of policies is reported once for the nodes that they share.
func Conflicts(policies []api.PartitionPolicy, divisions map[string]Division) []Conflict {
	var found []Conflict
	setOwner, nodeOwner := map[string]string{}, map[string]string{}
	for _, p := range Elders(policies) {
		d, ok := divisions[p.Name]
		if !ok {
			continue
		}
		for _, s := range d.Sets {
			if elder, taken := setOwner[s.Name]; !taken {
				setOwner[s.Name] = p.Name
			} else if first, _ := divisions[elder].Set(s.Name); !sameSet(first, s) {
				found = append(found, conflictingSet(p, elder, first, s))
			}
		}
		shared := map[string][]string{}
		for _, n := range d.Nodes {
			if elder, taken := nodeOwner[n.Name]; taken {
				shared[elder] = append(shared[elder], n.Name)
			} else {
				nodeOwner[n.Name] = p.Name
			}
		}
		for _, elder := range sortedKeys(shared) {
			found = append(found, overlapping(p, elder, shared[elder]))
		}
	}
	return found
}

// sameSet reports whether two policies mean the same by a name.
func sameSet(a, b Set) bool {
	return a.CPUMilli == b.CPUMilli && a.MemoryBytes == b.MemoryBytes &&
		equality.Semantic.DeepEqual(a.GPU, b.GPU) && equality.Semantic.DeepEqual(a.Sharing, b.Sharing)
}

func conflictingSet(p api.PartitionPolicy, elder string, first, second Set) Conflict {
	i := slices.IndexFunc(p.Spec.Sets, func(t api.SetTemplate) bool { return t.Name == second.Name })
	difference := "another gpu or sharing"
	if first.CPUMilli != second.CPUMilli || first.MemoryBytes != second.MemoryBytes {
		difference = fmt.Sprintf("cpu %s and memory %s here, cpu %s and memory %s there",
			cores(second.CPUMilli), bytesOf(second.MemoryBytes), cores(first.CPUMilli), bytesOf(first.MemoryBytes))
	}
	return Conflict{Policy: p.Name, With: elder, Rejection: api.Rejection{
		Set: second.Name, Reason: api.ReasonConflictingSet,
		Message: fmt.Sprintf("spec.sets[%d].name: policies %q and %q both define set %q, with %s; a set must be the same everywhere: rename it in %q, or give both the same gpu, cpu and memory",
			i, p.Name, elder, second.Name, difference, p.Name),
	}}
}

func overlapping(p api.PartitionPolicy, elder string, nodes []string) Conflict {
	more := ""
	if len(nodes) > 1 {
		more = fmt.Sprintf(" and %d more", len(nodes)-1)
	}
	return Conflict{Policy: p.Name, With: elder, Rejection: api.Rejection{
		Node: nodes[0], Reason: api.ReasonOverlappingPolicies,
		Message: fmt.Sprintf("spec.nodeSelector: policies %q and %q both select node %q%s; %q is older and holds there: change the selector of %q or the nodes' labels",
			p.Name, elder, nodes[0], more, elder, p.Name),
	}}
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
