// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner"
)

// Reasons for a policy, beside those of the partitioner's rejections.
const (
	// ReasonAccepted: the policy can be carried out, as far as is known.
	ReasonAccepted Reason = "Accepted"
	// ReasonSpecUnchanged: only metadata changed, which is always allowed.
	ReasonSpecUnchanged Reason = "SpecUnchanged"
)

// Cluster is what a policy is judged against.
type Cluster struct {
	// Policies are all that exist; one of the same name as the judged one is
	// its former state.
	Policies []v1alpha1.PartitionPolicy
	Nodes    []ClusterNode
}

// ClusterNode is one node of the cluster.
type ClusterNode struct {
	Name   string
	Labels map[string]string
	// Reported is true once it is known what the node has.
	Reported bool
	Node     partitioner.Node
}

// CheckPolicy judges a new or changed policy: it must make sense by itself, be
// compatible with the others, and each of its sets must fit at least one of the
// nodes that it would govern now. What only some nodes cannot hold, and what
// cannot be known yet, are warnings. Conflicts that stood before the change are
// no reason to refuse it. now stands in for a missing creation time.
func CheckPolicy(policy *v1alpha1.PartitionPolicy, cluster Cluster, now time.Time) (Refusals, []string) {
	if errs := partitioner.Validate(policy.Spec); len(errs) > 0 {
		var refusals Refusals
		for _, err := range errs {
			refusals = append(refusals, Refusal{
				Reason: v1alpha1.ReasonInvalidPolicy, Field: err.Field, Detail: err.ErrorBody(),
			})
		}
		return refusals, nil
	}
	candidate := policy.DeepCopy()
	if candidate.CreationTimestamp.IsZero() {
		candidate.CreationTimestamp = metav1.NewTime(now)
	}
	after := trial(candidate, cluster)
	refusals := after.newConflicts(candidate.Name, cluster)
	pool := after.pools[candidate.Name]
	for _, r := range pool.division.Rejections {
		refusals = append(refusals, refusalOf(r))
	}
	if len(refusals) > 0 {
		return refusals, nil
	}
	return nil, pool.warnings(candidate)
}

// refusalOf splits the field off the partitioner's sentence.
func refusalOf(r v1alpha1.Rejection) Refusal {
	field, detail, ok := strings.Cut(r.Message, ": ")
	if !ok || !strings.HasPrefix(field, "spec") {
		field, detail = "spec", r.Message
	}
	return Refusal{Reason: Reason(r.Reason), Field: field, Detail: detail}
}

// warnings are what the author should know about an accepted policy.
func (p *poolTrial) warnings(policy *v1alpha1.PartitionPolicy) []string {
	if p.selected == 0 {
		return []string{fmt.Sprintf("spec.nodeSelector: no node matches %s now; the policy takes effect when nodes get these labels",
			metav1.FormatLabelSelector(&policy.Spec.NodeSelector))}
	}
	var warnings []string
	if p.silent > 0 {
		warnings = append(warnings, fmt.Sprintf("spec.nodeSelector: %d of the %d matching nodes have not reported their GPUs yet; whether the sets fit there is not known",
			p.silent, p.selected))
	}
	faults := p.division.Faults()
	for i, r := range faults {
		if i == maxFaults {
			warnings = append(warnings, fmt.Sprintf("%d more sets do not fit single nodes", len(faults)-i))
			break
		}
		warnings = append(warnings, r.Message)
	}
	return warnings
}

// maxFaults is how many nodes a warning names.
const maxFaults = 8

// policyTrial is the cluster as it would be.
type policyTrial struct {
	pools     map[string]*poolTrial
	conflicts []partitioner.Conflict
}

// poolTrial is one policy in it: how many nodes it selects, how many of those
// it governs have not reported, and what it makes of the others.
type poolTrial struct {
	selected, silent int
	division         partitioner.Division
}

// trial divides the cluster with candidate in the place of its former state;
// nil leaves the cluster as it is.
func trial(candidate *v1alpha1.PartitionPolicy, cluster Cluster) policyTrial {
	policies := slices.Clone(cluster.Policies)
	if candidate != nil {
		policies = slices.DeleteFunc(policies, func(p v1alpha1.PartitionPolicy) bool { return p.Name == candidate.Name })
		policies = append(policies, *candidate)
	}
	t := policyTrial{pools: map[string]*poolTrial{}}
	claims := map[string]partitioner.Division{}
	reported := map[string][]partitioner.Node{}
	for _, p := range policies {
		t.pools[p.Name] = &poolTrial{}
	}
	claim := func(policy, node string) {
		t.pools[policy].selected++
		d := claims[policy]
		d.Nodes = append(d.Nodes, partitioner.NodeDivision{Name: node})
		claims[policy] = d
	}
	for _, n := range cluster.Nodes {
		winner, others := partitioner.Govern(policies, n.Labels)
		if winner == nil {
			continue
		}
		claim(winner.Name, n.Name)
		for _, other := range others {
			claim(other.Name, n.Name)
		}
		if n.Reported {
			reported[winner.Name] = append(reported[winner.Name], n.Node)
		} else {
			t.pools[winner.Name].silent++
		}
	}
	for _, p := range policies {
		if len(reported[p.Name]) > 0 {
			t.pools[p.Name].division = partitioner.Divide(p.Spec, reported[p.Name])
		}
		d := claims[p.Name]
		d.Sets = t.pools[p.Name].division.Sets
		claims[p.Name] = d
	}
	t.conflicts = partitioner.Conflicts(policies, claims)
	return t
}

// newConflicts are the conflicts that a policy is part of and that do not exist
// without the change.
func (t policyTrial) newConflicts(policy string, cluster Cluster) Refusals {
	var refusals Refusals
	var before []partitioner.Conflict
	if len(t.conflicts) > 0 {
		before = trial(nil, cluster).conflicts
	}
	for _, c := range t.conflicts {
		known := slices.ContainsFunc(before, func(b partitioner.Conflict) bool {
			return b.Policy == c.Policy && b.With == c.With && b.Rejection.Reason == c.Rejection.Reason && b.Rejection.Set == c.Rejection.Set
		})
		if (c.Policy == policy || c.With == policy) && !known {
			refusals = append(refusals, refusalOf(c.Rejection))
		}
	}
	return refusals
}
