// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
)

// plan is the layout that the governing policy wants here. pending names the
// sets that have a place here but whose size the controller has not written yet.
func (a *agent) plan(d kube.Desired, t *told) (layout gpu.Layout, pending []string) {
	if t.policy == nil {
		return gpu.Layout{}, nil
	}
	var sets []partitioner.Set
	for _, template := range t.policy.Spec.Sets {
		i := slices.IndexFunc(d.Sets, func(s api.ResourceSet) bool {
			return s.Name == template.Name && slices.Contains(s.Spec.Policies, t.policy.Name)
		})
		if i < 0 {
			pending = append(pending, template.Name)
			continue
		}
		sets = append(sets, partitioner.SetOf(template.Name, d.Sets[i].Spec))
	}
	layout, t.report = partitioner.Plan(a.capacity(d, t), t.policy.Spec, sets)
	pending = slices.DeleteFunc(pending, func(set string) bool {
		return slices.ContainsFunc(t.report.Absent, func(r api.Rejection) bool { return r.Set == set && r.Reason != api.ReasonPending })
	})
	return layout, pending
}

func (a *agent) capacity(d kube.Desired, t *told) partitioner.Node {
	n := partitioner.Node{Name: a.options.node, CPUMilli: d.CPUMilli, MemoryBytes: d.MemoryBytes, GPUs: t.gpus}
	for _, z := range t.numa {
		n.NUMA = append(n.NUMA, partitioner.NUMANode{ID: z.ID, CPUs: z.CPUs, MemoryBytes: z.MemoryBytes})
	}
	return n
}
