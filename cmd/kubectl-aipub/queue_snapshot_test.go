// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
)

// taken is the snapshot that is decided on.
func (c *crowd) taken(t *testing.T) *gate.Snapshot {
	t.Helper()
	d, err := parseDump(strings.NewReader(string(c.dump(t))))
	if err != nil {
		t.Fatal(err)
	}
	q := &queues{waiters: map[quota.Workload]*waiter{}}
	var pods corev1.PodList
	if err := listManagedPods(context.Background(), d, &pods); err != nil {
		t.Fatal(err)
	}
	q.pods = pods.Items
	q.gather()
	if err := q.readWorkloads(context.Background(), d, nil); err != nil {
		t.Fatal(err)
	}
	s, err := q.snapshot(context.Background(), d, clock)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMinimumsOfOperations(t *testing.T) {
	two := int32(2)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{TypeMeta: typeMeta("autoscaling/v2", "HorizontalPodAutoscaler"),
		ObjectMeta: metav1.ObjectMeta{Namespace: "vision", Name: "any"},
		Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: &two, MaxReplicas: 9, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "serve"}}}
	for name, tc := range map[string]struct {
		change func(*crowd, *appsv1.Deployment)
		want   int64
	}{
		"one by default":     {func(*crowd, *appsv1.Deployment) {}, 1},
		"the author's":       {func(_ *crowd, d *appsv1.Deployment) { d.Annotations[api.MinReplicasAnnotation] = "3" }, 3},
		"none by the author": {func(_ *crowd, d *appsv1.Deployment) { d.Annotations[api.MinReplicasAnnotation] = "0" }, 0},
		"what is no number":  {func(_ *crowd, d *appsv1.Deployment) { d.Annotations[api.MinReplicasAnnotation] = "few" }, 1},
		"the autoscaler's":   {func(c *crowd, _ *appsv1.Deployment) { c.more = append(c.more, scaler) }, 2},
		"the author's first": {func(c *crowd, d *appsv1.Deployment) {
			c.more = append(c.more, scaler)
			d.Annotations[api.MinReplicasAnnotation] = "4"
		}, 4},
		"scaled to nothing":   {func(_ *crowd, d *appsv1.Deployment) { none := int32(0); d.Spec.Replicas = &none }, 0},
		"a Job has none":      {func(_ *crowd, d *appsv1.Deployment) { d.Annotations[api.TypeAnnotation] = string(api.TypeJob) }, 0},
		"without a set":       {func(_ *crowd, d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Resources.Limits = nil }, 0},
		"outside any project": {func(_ *crowd, d *appsv1.Deployment) { delete(d.Annotations, api.ProjectAnnotation) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := crowded(t)
			tc.change(c, c.deployment("vision", "serve", "ann", 5, "small"))
			var got int64
			for _, f := range c.taken(t).Floors {
				got += f.MinReplicas
			}
			if got != tc.want {
				t.Errorf("the minimum is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestWhatIsChargedAndWhatWaits(t *testing.T) {
	c := crowded(t)
	c.podNamed("run-0").Status.Phase = corev1.PodSucceeded
	now := metav1.NewTime(clock)
	c.podNamed("train-b-0").DeletionTimestamp = &now
	c.podNamed("run-1").DeletionTimestamp = &now
	open(c.podNamed("train-c-0"), "gpu-02", "")
	c.more = c.more[1:] // namespace vision is not managed any more
	c.jobs[len(c.jobs)-1].Annotations[api.GangAnnotation] = "all"
	two := int32(2)
	c.jobs[len(c.jobs)-1].Spec.Parallelism = &two
	s := c.taken(t)
	var got []string
	for _, p := range s.Charged {
		got = append(got, p.Claim.Name+" on "+p.Node)
		if !p.Unmanaged || p.Grade != quota.Within || p.Leaving != (p.Claim.Name == "run-1") || p.Bound != (p.Claim.Name == "run-1") {
			t.Errorf("%+v", p)
		}
	}
	if s := strings.Join(got, ", "); s != "run-1 on gpu-01, train-c-0 on gpu-02" {
		t.Errorf("charged are %s", s)
	}
	got = nil
	for _, p := range s.Pending {
		got = append(got, p.Claim.Name)
		if want := map[string]int{"embed-0": 2}[p.Claim.Name]; p.Gang != want {
			t.Errorf("%s: gang %d, want %d", p.Claim.Name, p.Gang, want)
		}
	}
	if s := strings.Join(got, ", "); s != "tune-0, embed-0, probe" {
		t.Errorf("pending are %s", s)
	}
}
