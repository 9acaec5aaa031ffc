// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

var managedPods = flag.Int("managed", 20_000, "how many managed pods there are when the leader is killed")

// BenchmarkReady is the time from the death of the leader, which says nothing, to the
// first gate that the other replica opens.
func BenchmarkReady(b *testing.B) {
	for b.Loop() {
		s := startServer(b)
		s.fleet(b, *fleetNodes)
		s.projects(b, projectCount, int32(*managedPods/projectCount/2), 1000)
		s.running(b, *managedPods/2, projectCount, *fleetNodes)
		s.waiting(b, *managedPods/2, projectCount)
		d := s.deploy(b)
		leader := d.replica(b)
		eventually(b, "a leader of the gates", 5*time.Minute, func() error {
			if leader.metric("aipub_gates_decision_seconds_count") == 0 {
				return errNotYet
			}
			return nil
		})
		next := d.replica(b)
		var raw []string
		worst := 0.0
		for i := range 3 {
			took := s.loseLeader(b, leader, i)
			raw = append(raw, fmt.Sprintf("kill %d: first gate after %.2f s", i+1, took.Seconds()))
			worst = max(worst, took.Seconds())
			if i < 2 {
				leader, next = next, d.replica(b)
			}
		}
		_ = next
		raw = append(raw, fmt.Sprintf("%d managed pods, half of them open, %d nodes; all in the API alone", *managedPods, *fleetNodes))
		figure(b, "cluster.ready_s", worst, "s", raw...)
	}
}

// loseLeader kills the leader and grants one project quota for one more pod; it
// returns when that is open.
func (s *server) loseLeader(b *testing.B, leader *replica, i int) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	name := project(i)
	pods := s.follow(ctx, b, client.InNamespace(name))
	defer pods.Stop()
	leader.kill(b)
	began := time.Now()
	must(b, s.limit(ctx, name, int32(*managedPods/projectCount/2+1)))
	for e := range pods.ResultChan() {
		if status, is := e.Object.(*metav1.Status); is {
			b.Fatalf("watch pods of %s: %s", name, status.Message)
		}
		if pod, ok := e.Object.(*corev1.Pod); ok && pod.Annotations[api.OpenedAnnotation] != "" && pod.Spec.NodeName == "" {
			return time.Since(began)
		}
	}
	b.Fatalf("no gate opened within %s", time.Since(began))
	return 0
}
