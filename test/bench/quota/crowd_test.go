// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	set      = "small" // a quarter of a GPU
	perGPU   = 4
	perNode  = 8 * perGPU
	pool     = "bench"
	creators = 16
	people   = 10 // of each project
)

// fleet makes nodes of eight GPUs, what their agents report, and the policy that
// divides them. They exist in the API alone.
func (s *server) fleet(b *testing.B, nodes int) {
	b.Helper()
	percent := int32(100 / perGPU)
	s.create(b, &api.PartitionPolicy{ObjectMeta: metav1.ObjectMeta{Name: pool}, Spec: api.PartitionPolicySpec{
		NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"aipub.io/pool": pool}},
		GPUs:         []api.GPURule{{Mode: "Block"}},
		Sets:         []api.SetTemplate{{Name: set, GPU: &api.SetGPU{BlockPercent: &percent}}},
	}})
	s.each(b, nodes, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("node-%d", i)
		if err := s.Create(ctx, newNode(name)); err != nil {
			return err
		}
		partition := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := s.Create(ctx, partition); err != nil {
			return err
		}
		partition.Status = reportOf(name, percent)
		return s.Status().Update(ctx, partition)
	})
}

func newNode(name string) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("512Gi"),
		api.ResourcePrefix + set: *resource.NewQuantity(perNode, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"aipub.io/pool": pool}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// reportOf is what the agent of a node says of its GPUs.
func reportOf(name string, percent int32) api.NodePartitionStatus {
	status := api.NodePartitionStatus{
		AgentVersion: "bench", Policy: pool, PolicyGeneration: 1, Counters: map[string]int64{},
		Models:     []api.GPUModel{{Name: "NVIDIA H200", Memory: resource.MustParse("141Gi")}},
		Sets:       []api.SetOnNode{{Name: set, Total: perNode, Free: perNode}},
		Conditions: []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied, LastTransitionTime: metav1.Now()}},
	}
	for g := range perNode / perGPU {
		uuid, counter := fmt.Sprintf("GPU-%s-%d", name, g), fmt.Sprintf("gpu%d", g)
		status.Counters[counter] = 100
		status.GPUs = append(status.GPUs, api.NodeGPU{Index: int32(g), UUID: uuid, Model: "NVIDIA H200", Health: api.Health{OK: true}})
		for slot := range perGPU {
			status.Slices = append(status.Slices, api.NodeSlice{
				ID: fmt.Sprintf("%s-%d-%d", set, g, slot), Set: set, GPUs: []string{uuid}, BlockPercent: percent, State: "Free",
				Uses: map[string]int64{counter: int64(percent)}, Since: metav1.Now(),
			})
		}
	}
	return status
}

// each does n things from many sides at once.
func (s *server) each(b *testing.B, n int, do func(ctx context.Context, i int) error) {
	b.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	work := make(chan int)
	var workers sync.WaitGroup
	for range creators {
		workers.Go(func() {
			for i := range work {
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		work <- i
	}
	close(work)
	workers.Wait()
	must(b, context.Cause(ctx))
}

func project(i int) string { return fmt.Sprintf("project-%d", i) }

func person(i int) string { return fmt.Sprintf("person-%d", i) }

// projects makes namespaces of projects, with a quota on each and on each of its
// people.
func (s *server) projects(b *testing.B, n int, each, person int32) {
	b.Helper()
	s.each(b, n, func(ctx context.Context, i int) error {
		name := project(i)
		if err := s.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{api.ProjectLabel: name}}}); err != nil {
			return err
		}
		if err := s.Create(ctx, newQuota(name, api.QuotaScope{Project: name}, each)); err != nil {
			return err
		}
		if err := s.Create(ctx, newQuota(name+"-each", api.QuotaScope{Project: name, EachUser: true}, person)); err != nil {
			return err
		}
		return s.Create(ctx, &api.PriorityQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.PriorityQueueSpec{Policy: api.FirstScheduling}})
	})
}

func newQuota(name string, scope api.QuotaScope, small int32) *api.ResourceSetQuota {
	none := int32(0)
	return &api.ResourceSetQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.ResourceSetQuotaSpec{
		Scope: scope, SurgePods: &none, Limits: api.QuotaLimits{SetLimits: api.SetLimits{Sets: map[string]int32{set: small}}},
	}}
}

// limit changes how much a project may hold.
func (s *server) limit(ctx context.Context, name string, small int32) error {
	q := &api.ResourceSetQuota{ObjectMeta: metav1.ObjectMeta{Name: name}}
	patch := fmt.Sprintf(`{"spec":{"limits":{"sets":{%q:%d}}}}`, set, small)
	return s.Patch(ctx, q, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// ask is a pod as its author writes it.
func ask(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/train",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{api.ResourcePrefix + set: resource.MustParse("1")}},
		}}},
	}
}

// admitted is a pod as admission leaves it: most of a crowd is made before the
// webhooks are there, since making it is not what is measured.
func admitted(project, user, name string) *corev1.Pod {
	pod := ask(project, name)
	pod.Labels = map[string]string{api.SetLabel: set}
	pod.Annotations = map[string]string{
		api.UserAnnotation: user, api.ProjectAnnotation: project, api.TypeAnnotation: string(api.TypeJob),
	}
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: api.QuotaGate}}
	pod.Spec.Containers[0].Resources.Requests = pod.Spec.Containers[0].Resources.Limits
	return pod
}

// waiting makes n pods with closed gates, in all projects in turn.
func (s *server) waiting(b *testing.B, n, projects int) {
	b.Helper()
	began := time.Now()
	s.each(b, n, func(ctx context.Context, i int) error {
		if i%5000 == 4999 {
			b.Logf("%d pods made in %s", i+1, time.Since(began).Round(time.Second))
		}
		return s.Create(ctx, admitted(project(i%projects), person(i/projects%people), fmt.Sprintf("wait-%d", i)))
	})
}

// running makes n pods with open gates, on all nodes in turn.
func (s *server) running(b *testing.B, n, projects, nodes int) {
	b.Helper()
	s.each(b, n, func(ctx context.Context, i int) error {
		pod := admitted(project(i%projects), person(i/projects%people), fmt.Sprintf("run-%d", i))
		pod.Spec.SchedulingGates = nil
		pod.Spec.NodeName = fmt.Sprintf("node-%d", i%nodes)
		pod.Annotations[api.OpenedAnnotation], pod.Annotations[api.NodeAnnotation] = "Within", pod.Spec.NodeName
		return s.Create(ctx, pod)
	})
}
