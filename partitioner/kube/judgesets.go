// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// definitions are the ResourceSets that policies define, by name. The eldest
// policy of a name sets the size; younger ones that agree are named beside it.
// Where their pools have other models of GPU, a MIG set counts with its largest
// fraction of one.
//
// A set that its policy still names but that cannot be sized now, because no
// node is there to divide, keeps the size it has: pods that wait for a pool to
// grow must not become invalid when it shrinks to nothing.
func (sc *scene) definitions() map[string]api.ResourceSetSpec {
	specs := map[string]api.ResourceSetSpec{}
	for i := range sc.elders {
		p := sc.pools[sc.elders[i].Name]
		if p.invalid != "" {
			continue
		}
		for _, template := range p.policy.Spec.Sets {
			if p.disputes(template.Name) {
				continue
			}
			spec, sized := specs[template.Name]
			if !sized {
				spec, sized = sc.sizeOf(p, template)
			} else if set, ok := p.division.Set(template.Name); ok {
				spec.GPUUnits = max(spec.GPUUnits, set.GPUUnits)
			}
			if sized {
				spec.Policies = append(spec.Policies, p.policy.Name)
				specs[template.Name] = spec
			}
		}
	}
	return specs
}

// disputes reports whether an older policy means something else by a name.
func (p *pool) disputes(set string) bool {
	return slices.ContainsFunc(p.conflicts, func(c partitioner.Conflict) bool {
		return c.Rejection.Reason == api.ReasonConflictingSet && c.Rejection.Set == set
	})
}

func (sc *scene) sizeOf(p *pool, template api.SetTemplate) (api.ResourceSetSpec, bool) {
	if set, ok := p.division.Set(template.Name); ok {
		return set.Spec(), true
	}
	i := slices.IndexFunc(sc.Sets, func(s api.ResourceSet) bool { return s.Name == template.Name })
	if i < 0 {
		return api.ResourceSetSpec{}, false
	}
	spec := *sc.Sets[i].Spec.DeepCopy()
	spec.ResourceName, spec.Policies = gpu.ResourceName(template.Name), nil
	spec.GPUUnits = keptUnits(spec, template.GPU)
	spec.GPU, spec.Sharing = template.GPU.DeepCopy(), template.Sharing.DeepCopy()
	if template.CPU != nil {
		spec.CPU = *template.CPU
	}
	if template.Memory != nil {
		spec.Memory = *template.Memory
	}
	return spec, true
}

// keptUnits are the units of a set whose pool has no node to ask. What a MIG
// instance is of a GPU is then known only for the size that it had.
func keptUnits(had api.ResourceSetSpec, now *api.SetGPU) int64 {
	if now != nil && now.MIG != nil && equality.Semantic.DeepEqual(had.GPU, now) && had.GPUUnits > 0 {
		return had.GPUUnits
	}
	return partitioner.UnitsOf(now, 0)
}

// setStatus sums up the nodes of one set.
func (sc *scene) setStatus(name string, spec api.ResourceSetSpec) api.ResourceSetStatus {
	var status api.ResourceSetStatus
	if i := slices.IndexFunc(sc.Sets, func(s api.ResourceSet) bool { return s.Name == name }); i >= 0 {
		status.Conditions = slices.Clone(sc.Sets[i].Status.Conditions)
	}
	var holders []string
	for _, p := range sc.Partitions {
		node := sc.nodes[p.Name]
		if node == nil {
			continue
		}
		for _, count := range p.Status.Sets {
			if count.Name != name {
				continue
			}
			count.Name = p.Name
			if !offers(node, spec.ResourceName) {
				count.Free = 0
			}
			status.Nodes = append(status.Nodes, count)
			status.Total += count.Total
			status.Free += count.Free
			status.Held += count.Held
		}
		holders = append(holders, holdersOf(&p, name)...)
	}
	slices.SortFunc(status.Nodes, func(a, b api.SetOnNode) int { return cmp.Compare(a.Name, b.Name) })
	ready := setCondition(status, spec, holders, sc.Charged[name])
	ready.LastTransitionTime = sc.Now
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// offers reports whether the scheduler can use what a node has free: the node
// is ready, not cordoned, and its kubelet offers the resource. A kubelet that
// has lost the plugin says zero, and one that restarted since says nothing.
func offers(node *corev1.Node, resourceName string) bool {
	if node.Spec.Unschedulable || !isReady(node) {
		return false
	}
	allocatable := node.Status.Allocatable[corev1.ResourceName(resourceName)]
	return !allocatable.IsZero()
}

// holdersOf lists who holds slices of a set on a node.
func holdersOf(p *api.NodePartition, set string) []string {
	var holders []string
	for _, s := range p.Status.Slices {
		if s.Set == set && s.Holder != nil {
			holders = append(holders, fmt.Sprintf("%s/%s on node %s", s.Holder.Namespace, s.Holder.Pod, p.Name))
		}
	}
	return holders
}

func setCondition(status api.ResourceSetStatus, spec api.ResourceSetSpec, holders []string, charged int64) metav1.Condition {
	switch {
	case len(spec.Policies) == 0 && status.Held == 0:
		return metav1.Condition{
			Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: api.ReasonWaitingForIdle,
			Message: fmt.Sprintf("no policy defines the set any more; it is deleted when the pods that are charged for it end: %d in all", charged),
		}
	case len(spec.Policies) == 0:
		return metav1.Condition{
			Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: api.ReasonWaitingForIdle,
			Message: "no policy defines the set any more; it is deleted when its holders end: " + some(holders, int(status.Held)),
		}
	case status.Total == 0:
		return metav1.Condition{
			Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: api.ReasonPending,
			Message: "no node offers the set now; see the status of PartitionPolicy " + spec.Policies[0],
		}
	}
	return metav1.Condition{
		Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied,
		Message: fmt.Sprintf("%d on %d nodes", status.Total, len(status.Nodes)),
	}
}

// some prints the first of a list and how many there are in all.
func some(list []string, total int) string {
	slices.Sort(list)
	total = max(total, len(list))
	switch {
	case len(list) == 0:
		return fmt.Sprintf("%d in all", total)
	case total == 1:
		return list[0]
	}
	return fmt.Sprintf("%s and %d more", list[0], total-1)
}
