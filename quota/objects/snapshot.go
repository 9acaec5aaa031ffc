// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/placement"
)

// Cluster is a whole cluster as it was read at once.
type Cluster struct {
	Quotas     []api.ResourceSetQuota
	Queues     []api.PriorityQueue
	Sets       []api.ResourceSet
	Partitions []api.NodePartition
	Nodes      []corev1.Node
	Namespaces []corev1.Namespace
	Scalers    []autoscalingv2.HorizontalPodAutoscaler
	Pods       []corev1.Pod // those with [api.SetLabel]
	// Workloads by UID: those of the pods that wait, all Operations, and what is of type
	// Workspace, without which it is not known when it has to give back.
	Workloads map[string]*Workload
}

// Snapshot is what a decision about the cluster looks at.
func Snapshot(c *Cluster, now time.Time) gate.Snapshot {
	projects := map[string]string{}
	for i := range c.Namespaces {
		projects[c.Namespaces[i].Name] = c.Namespaces[i].Labels[api.ProjectLabel]
	}
	var autoscalers Autoscalers
	for i := range c.Scalers {
		autoscalers.Set(&c.Scalers[i])
	}
	s := gate.Snapshot{
		Now: now, Quotas: slices.Clone(c.Quotas), Queues: c.Queues, Sizes: Sizes(c.Sets),
		Nodes:  Nodes(c.Partitions, c.Nodes, placement.NodeFrom),
		Floors: Floors(maps.Values(c.Workloads), &autoscalers, func(namespace string) string { return projects[namespace] }),
	}
	SortQuotas(s.Quotas)
	var bounds Bounds
	for i := range c.Pods {
		p := PodOf(&c.Pods[i], &bounds)
		switch project := projects[p.Claim.Namespace]; {
		case p.Open():
			s.Charged = append(s.Charged, p.Charged(project, c.Workloads[p.Claim.Workload.UID]))
		case p.Waits() && p.Managed(project):
			s.Pending = append(s.Pending, p.Pending(c.Workloads[p.Claim.Workload.UID]))
		}
	}
	return s
}
