// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/placement"
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
	if len(g.sets.Items) == 0 || len(g.nodes.Items) == 0 || len(g.partitions.Items) == 0 {
		return nil, errNothingToDecideOn
	}
	s := &gate.Snapshot{Now: now, Quotas: g.quotas.Items, Queues: q.objects, Sizes: quota.Sizes{}, Nodes: g.placementNodes(), Floors: g.floors()}
	for i := range g.sets.Items {
		s.Sizes[g.sets.Items[i].Name] = quota.Units(g.sets.Items[i].Spec.GPUUnits)
	}
	q.addPods(s, g.managed(), g.gangs())
	return s, nil
}

// addPods puts what is charged and what waits into a snapshot.
func (q *queues) addPods(s *gate.Snapshot, managed func(namespace string) bool, gangs map[string]int) {
	bounds := map[string]*corev1.PodSpec{}
	for i := range q.pods {
		p := &q.pods[i]
		claim := claimOf(p)
		ask := placement.Ask{UID: claim.UID, Namespace: p.Namespace, Name: p.Name, Sets: claim.Sets, Pod: boundsOf(&p.Spec, bounds)}
		switch {
		case hasEnded(p):
		case !isGated(p):
			s.Charged = append(s.Charged, gate.Charged{
				Claim: claim, Ask: ask, Grade: cmp.Or(quota.Grade(p.Annotations[api.OpenedAnnotation]), quota.Within),
				Node: cmp.Or(p.Spec.NodeName, p.Annotations[api.NodeAnnotation]), Bound: p.Spec.NodeName != "",
				Leaving: p.DeletionTimestamp != nil, Unmanaged: !managed(p.Namespace),
			})
		case waits(p) && managed(p.Namespace):
			w := q.waiters[claim.Workload]
			s.Pending = append(s.Pending, gate.Pending{
				Claim: claim, Ask: ask, Rank: w.Rank, Promoted: w.Promoted, Created: w.Created, Gang: gangs[claim.Workload.UID],
			})
		}
	}
}

// boundsOf is what of a pod decides on which nodes it may be; equal ones have one
// address, so that they are judged once.
func boundsOf(spec *corev1.PodSpec, known map[string]*corev1.PodSpec) *corev1.PodSpec {
	out := &corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		out.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return out
	}
	if same := known[string(raw)]; same != nil {
		return same
	}
	known[string(raw)] = out
	return out
}

// hasGangs reports whether a Job that waits may ask for a gang.
func (q *queues) hasGangs() bool {
	for w := range q.waiters {
		if w.Group == "batch" && w.Kind == "Job" {
			return true
		}
	}
	return false
}

// gangs are how many pods of each Job start together, by its UID.
func (g *ground) gangs() map[string]int {
	out := map[string]int{}
	for i := range g.jobs.Items {
		job := &g.jobs.Items[i]
		text := job.Annotations[api.GangAnnotation]
		if text == "" {
			continue
		}
		gang := int(valueOr(job.Spec.Parallelism, 1))
		if n, err := strconv.Atoi(text); err == nil {
			gang = min(n, gang)
		}
		if job.Spec.Completions != nil {
			gang = min(gang, int(*job.Spec.Completions-job.Status.Succeeded))
		}
		out[string(job.UID)] = max(gang, 0)
	}
	return out
}

func valueOr(p *int32, otherwise int32) int32 {
	if p == nil {
		return otherwise
	}
	return *p
}

// managed reports which namespaces belong to a project.
func (g *ground) managed() func(namespace string) bool {
	out := map[string]bool{}
	for i := range g.namespaces.Items {
		n := &g.namespaces.Items[i]
		out[n.Name] = n.Labels[api.ProjectLabel] != "" && n.Name != metav1.NamespaceSystem
	}
	return func(namespace string) bool { return out[namespace] }
}

func (g *ground) placementNodes() []placement.Node {
	byName := map[string]*corev1.Node{}
	for i := range g.nodes.Items {
		byName[g.nodes.Items[i].Name] = &g.nodes.Items[i]
	}
	var out []placement.Node
	for i := range g.partitions.Items {
		if n := byName[g.partitions.Items[i].Name]; n != nil {
			out = append(out, placement.NodeFrom(&g.partitions.Items[i], n))
		}
	}
	slices.SortFunc(out, func(a, b placement.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// floors are the guaranteed minimums of Operations, the eldest first.
func (g *ground) floors() []quota.Floor {
	type dated struct {
		quota.Floor
		made time.Time
	}
	var all []dated
	add := func(kind string, m *metav1.ObjectMeta, replicas *int32, template *corev1.PodTemplateSpec) {
		if f := g.floor(kind, m, replicas, template); f.MinReplicas > 0 {
			all = append(all, dated{f, m.CreationTimestamp.Time})
		}
	}
	for i := range g.deployments.Items {
		d := &g.deployments.Items[i]
		add("Deployment", &d.ObjectMeta, d.Spec.Replicas, &d.Spec.Template)
	}
	for i := range g.statefuls.Items {
		d := &g.statefuls.Items[i]
		add("StatefulSet", &d.ObjectMeta, d.Spec.Replicas, &d.Spec.Template)
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.Workload.UID, b.Workload.UID))
	})
	out := make([]quota.Floor, len(all))
	for i, d := range all {
		out[i] = d.Floor
	}
	return out
}

// floor is the author's own minimum, else that of an autoscaler, else one as long as
// any replica is wished for. It is zero for what has none.
func (g *ground) floor(kind string, m *metav1.ObjectMeta, replicas *int32, template *corev1.PodTemplateSpec) quota.Floor {
	a := m.Annotations
	f := quota.Floor{
		Workload: quota.Workload{Group: appsv1.GroupName, Kind: kind, Namespace: m.Namespace, Name: m.Name, UID: string(m.UID)},
		Party:    quota.Party{Project: a[api.ProjectAnnotation], User: a[api.UserAnnotation], Type: api.WorkloadType(a[api.TypeAnnotation])},
		Sets:     setsOf(&template.Spec),
	}
	if f.Party.Type != api.TypeOperation || f.Party.Project == "" || len(f.Sets) == 0 {
		return quota.Floor{}
	}
	if n, err := strconv.ParseInt(a[api.MinReplicasAnnotation], 10, 32); err == nil && n >= 0 {
		f.MinReplicas = n
		return f
	}
	for i := range g.scalers.Items {
		h := &g.scalers.Items[i]
		if t := h.Spec.ScaleTargetRef; h.Namespace == m.Namespace && t.Kind == kind && t.Name == m.Name {
			f.MinReplicas = int64(valueOr(h.Spec.MinReplicas, 1))
			return f
		}
	}
	f.MinReplicas = int64(min(1, valueOr(replicas, 1)))
	return f
}
