// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

func TestHowManyPodsOfAJobStartTogether(t *testing.T) {
	n := func(i int32) *int32 { return &i }
	for _, tc := range []struct {
		gang                     string
		parallelism, completions *int32
		succeeded                int32
		failed                   string
		want                     int
	}{
		{"", n(4), nil, 0, "", 0},
		{"all", n(4), nil, 0, "", 4},
		{"all", nil, nil, 0, "", 1},
		{"3", n(4), nil, 0, "", 3},
		{"9", n(4), nil, 0, "", 4},     // no more exist at once
		{"4", n(4), n(6), 4, "", 2},    // at its end a Job makes what is left
		{"all", n(4), n(6), 6, "", 0},  // it is done
		{"all", n(4), n(4), 0, "2", 3}, // an index that failed for good is not made again
		{"all", n(9), n(9), 1, "0,3-5,7", 3},
		{"all", n(4), n(4), 0, "0-3", 0},
	} {
		job := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: tc.parallelism, Completions: tc.completions}, Status: batchv1.JobStatus{Succeeded: tc.succeeded}}
		if tc.failed != "" {
			job.Status.FailedIndexes = &tc.failed
		}
		if tc.gang != "" {
			job.Annotations = map[string]string{api.GangAnnotation: tc.gang}
		}
		if got := WorkloadOf(job, "batch", "Job").Gang; got != tc.want {
			t.Errorf("gang %q of %v: %d, want %d", tc.gang, job.Spec, got, tc.want)
		}
	}
}

func TestTheMinimumOfAnOperation(t *testing.T) {
	deployment := func(annotation string, replicas int32) *Workload {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "serve", UID: "u", Annotations: map[string]string{
			api.ProjectAnnotation: "vision", api.UserAnnotation: "ops", api.TypeAnnotation: string(api.TypeOperation),
		}}}
		if annotation != "" {
			d.Annotations[api.MinReplicasAnnotation] = annotation
		}
		d.Spec.Replicas = &replicas
		d.Spec.Template.Spec.Containers = []corev1.Container{asking("c", "small")}
		return WorkloadOf(d, "apps", "Deployment")
	}
	scaled := &Autoscalers{}
	scaled.Set(autoscaler("a", "apps/v1", "serve", 3, 9))
	for _, tc := range []struct {
		annotation  string
		replicas    int32
		autoscalers *Autoscalers
		want        int64
	}{
		{"", 5, nil, 1}, {"", 0, nil, 0}, {"", 5, scaled, 3}, {"2", 5, scaled, 2}, {"0", 5, scaled, 0}, {"2", 0, nil, 2}, {"odd", 5, nil, 1},
	} {
		f, _ := deployment(tc.annotation, tc.replicas).Floor(tc.autoscalers)
		if f.MinReplicas != tc.want {
			t.Errorf("%+v: %d", tc, f.MinReplicas)
		}
	}
	f, ok := deployment("2", 1).Floor(nil)
	want := quota.Workload{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "serve", UID: "u"}
	if !ok || f.Workload != want || f.Sets["small"] != 1 || f.Party.User != "ops" {
		t.Errorf("floor %+v", f)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "serve-1", Annotations: map[string]string{api.WorkloadAnnotation: "apps/Deployment/serve/u"}}}
	if got := Owner(pod); got != want {
		t.Errorf("a pod's workload %+v differs from its floor's %+v", got, want)
	}
}
