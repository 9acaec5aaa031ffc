// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

var (
	waitingPods = flag.Int("waiting", 50_000, "how many pods wait while gates are opened, moved and listed")
	fleetNodes  = flag.Int("nodes", 1000, "how many nodes there are")
	withCLI     = flag.Bool("cli", true, "measure the command line on the way")
	openings    = flag.Int("openings", 4000, "how many gates are opened at least")
)

const projectCount = 100

// BenchmarkRelease is how fast gates open once there is quota for them, with many
// pods that wait. Before, the queue is listed and changed with the command line,
// since the crowd is there.
func BenchmarkRelease(b *testing.B) {
	for b.Loop() {
		s := startServer(b)
		s.fleet(b, *fleetNodes)
		s.projects(b, projectCount, 0, 1000)
		began := time.Now()
		s.waiting(b, *waitingPods, projectCount)
		made := time.Since(began)
		d := s.deploy(b)
		r := d.replica(b)
		eventually(b, "a first decision", 5*time.Minute, func() error {
			if r.metric("aipub_gates_decision_seconds_count") == 0 {
				return errNotYet
			}
			return nil
		})
		if *withCLI {
			s.commandLine(b)
		}
		measureRelease(b, s, r, made)
	}
}

func measureRelease(b *testing.B, s *server, r *replica, made time.Duration) {
	each := (*openings + projectCount - 1) / projectCount
	conflicts, decisions, deciding := r.metric("aipub_gates_conflicts_total"), r.metric("aipub_gates_decision_seconds_count"), r.metric("aipub_gates_decision_seconds_sum")
	before := spent()
	began := time.Now()
	s.each(b, projectCount, func(ctx context.Context, i int) error { return s.limit(ctx, project(i), int32(each)) })
	opened := 0.0
	var raw []string
	for opened < float64(*openings) {
		time.Sleep(250 * time.Millisecond) // reading metrics takes time from what is measured
		if n := r.metric("aipub_gates_opened_total"); n > opened {
			opened = n
			raw = append(raw, fmt.Sprintf("%.2f s: %.0f open", time.Since(began).Seconds(), opened))
		}
		if time.Since(began) > 10*time.Minute {
			b.Fatalf("%.0f of %d gates opened in 10 min", opened, *openings)
		}
	}
	took := time.Since(began)
	effort := spent().since(before, opened)
	s.requireOpen(b, each)
	decisions, deciding = r.metric("aipub_gates_decision_seconds_count")-decisions, r.metric("aipub_gates_decision_seconds_sum")-deciding
	raw = append(raw,
		fmt.Sprintf("%d waiting pods (made in %s), %d nodes, %d projects; %.0f gates opened in %s", *waitingPods, made.Round(time.Second), *fleetNodes, projectCount, opened, took.Round(time.Millisecond)),
		fmt.Sprintf("%.0f decisions of %.0f ms; conflicts %.0f", decisions, 1000*deciding/max(decisions, 1), r.metric("aipub_gates_conflicts_total")-conflicts),
		effort,
		"nodes and pods exist in the API alone")
	figure(b, "quota.release_per_s", opened/took.Seconds(), "gates/s", raw...)
}

// requireOpen checks with the API server that every project has all that its quota
// allows, and no more.
func (s *server) requireOpen(b *testing.B, each int) {
	b.Helper()
	var pods corev1.PodList
	must(b, s.List(context.Background(), &pods, client.HasLabels{api.SetLabel}))
	count := map[string]int{}
	for i := range pods.Items {
		if len(pods.Items[i].Spec.SchedulingGates) == 0 {
			count[pods.Items[i].Namespace]++
		}
	}
	for i := range projectCount {
		if n := count[project(i)]; n != each {
			b.Errorf("%s has %d open, want %d", project(i), n, each)
		}
	}
}
