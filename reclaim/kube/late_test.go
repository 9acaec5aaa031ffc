// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	api "aipub.io/aipub/api/v1alpha1"
)

// late reads one workload as it once was, as a cache may, and all else as it is.
type late struct {
	client.Client
	was *metav1.PartialObjectMetadata
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if into, ok := o.(*metav1.PartialObjectMetadata); ok && l.was != nil {
		l.was.DeepCopyInto(into)
		return nil
	}
	return l.Client.Get(ctx, key, o, opts...)
}

// onePod has every list of pods be of one that holds its set: the fake has no index of
// them.
type onePod struct{ client.Client }

func (o *onePod) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = []corev1.Pod{*boundPod("p1", -70*hour)}
		return nil
	}
	return o.Client.List(ctx, list, opts...)
}

// counted counts events by their reason.
type counted map[string]int

func (c counted) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) { c[reason]++ }

// TestAPauseThatTheCacheDoesNotShowYetIsNotDoneAgain looks twice at what was read once.
func TestAPauseThatTheCacheDoesNotShowYetIsNotDoneAgain(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), api.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for name, annotation := range map[string]struct{ name, value string }{
		"asked for":   {api.PauseAnnotation, "true"},
		"by a policy": {api.OccupancyAnnotation, written(held70())},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "notebook", UID: "notebook", Annotations: map[string]string{
				api.TypeAnnotation: string(api.TypeWorkspace), api.ProjectAnnotation: "vision", api.UserAnnotation: "alice", annotation.name: annotation.value,
			}}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(3))}}
			p := &api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "everyone"},
				Spec: api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 1, GraceMinutes: ptr.To(int32(0))}}
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(d, p).Build()
			cached, events := &late{Client: &onePod{live}}, counted{}
			engine := NewEngine(cached, Config{Clock: NewClock(clocktesting.NewFakePassiveClock(noon)), Events: events})
			o := NewOthers(Kinds(false)[0], engine, cached, live)
			cached.was = o.object()
			if err := live.Get(t.Context(), client.ObjectKeyFromObject(d), cached.was); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := o.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(d)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := live.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
				t.Fatal(err)
			}
			if *d.Spec.Replicas != 0 || d.Annotations[api.PausedReplicasAnnotation] != "3" || events[api.ReasonPausing] > 1 {
				t.Errorf("%d replicas, annotations %v, events %v; it had 3", *d.Spec.Replicas, d.Annotations, events)
			}
		})
	}
}
