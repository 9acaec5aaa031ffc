// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// BenchmarkQueue50000 is what the plugin itself takes to show 50,000 waiting pods of
// 1,000 projects, once they are read.
func BenchmarkQueue50000(b *testing.B) {
	var pods []corev1.Pod
	for i := range 50_000 {
		project := fmt.Sprintf("p%d", i%1000)
		p := plainPod(project, fmt.Sprintf("pod-%d", i), i%600)
		p.Labels = map[string]string{api.SetLabel: "small"}
		p.Annotations = stamps(project, "ann", api.TypeJob)
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: api.QuotaGate}}
		pods = append(pods, *p)
	}
	for b.Loop() {
		q := &queues{pods: pods, waiters: map[quota.Workload]*waiter{}}
		q.gather()
		if err := q.readWorkloads(context.Background(), nil, nil); err != nil {
			b.Fatal(err)
		}
		q.sortAll(func(string) float64 { return 0 })
		if d := q.document(""); len(d.Waiting) != len(pods) {
			b.Fatal(len(d.Waiting))
		}
	}
}
