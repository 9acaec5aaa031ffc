// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
)

// ground is what a decision looks at beside the pods.
type ground struct {
	quotas      api.ResourceSetQuotaList
	sets        api.ResourceSetList
	partitions  api.NodePartitionList
	nodes       corev1.NodeList
	namespaces  corev1.NamespaceList
	jobs        batchv1.JobList
	deployments appsv1.DeploymentList
	statefuls   appsv1.StatefulSetList
	scalers     autoscalingv2.HorizontalPodAutoscalerList
	workspaces  api.WorkspaceList
}

// snapshot is what the loop that opens gates would decide on now.
func (q *queues) snapshot(ctx context.Context, from lister, now time.Time) (*gate.Snapshot, error) {
	var g ground
	lists := []runtime.Object{&g.quotas, &g.sets, &g.partitions, &g.nodes, &g.namespaces, &g.deployments, &g.statefuls, &g.scalers}
	if q.hasGangs() {
		lists = append(lists, &g.jobs)
	}
	for _, list := range lists {
		if err := from.List(ctx, list); err != nil {
			return nil, err
		}
	}
	if err := from.List(ctx, &g.workspaces); err != nil {
		q.note(ctx, "it is not said when Workspaces give back", err)
	}
	if len(g.sets.Items) == 0 || len(g.nodes.Items) == 0 || len(g.partitions.Items) == 0 {
		return nil, errNothingToDecideOn
	}
	q.sets = objects.SetSpecs(g.sets.Items)
	s := objects.Snapshot(&objects.Cluster{
		Quotas: g.quotas.Items, Queues: q.objects, Sets: g.sets.Items, Partitions: g.partitions.Items, Nodes: g.nodes.Items,
		Namespaces: g.namespaces.Items, Scalers: g.scalers.Items, Pods: q.pods, Workloads: q.workloads(&g),
	}, now)
	return &s, nil
}

// hasGangs reports whether a Job that waits may ask for a gang.
func (q *queues) hasGangs() bool {
	for w := range q.waiters {
		if w.Group == batchv1.GroupName && w.Kind == "Job" {
			return true
		}
	}
	return false
}

// workloads are those that wait, and all that may have a minimum, by UID.
func (q *queues) workloads(g *ground) map[string]*objects.Workload {
	out := map[string]*objects.Workload{}
	for _, w := range q.waiters {
		if w.workload != nil {
			out[w.Workload.UID] = w.workload
		}
	}
	add := func(o metav1.Object, group, kind string) {
		w := objects.WorkloadOf(o, group, kind)
		out[w.UID] = w
	}
	for i := range g.jobs.Items {
		add(&g.jobs.Items[i], batchv1.GroupName, "Job")
	}
	for i := range g.deployments.Items {
		add(&g.deployments.Items[i], appsv1.GroupName, "Deployment")
	}
	for i := range g.statefuls.Items {
		add(&g.statefuls.Items[i], appsv1.GroupName, "StatefulSet")
	}
	for i := range g.workspaces.Items {
		add(&g.workspaces.Items[i], api.GroupVersion.Group, "Workspace")
	}
	return out
}
