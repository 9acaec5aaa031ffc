// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BenchmarkAdmission is what a create takes at 100 of them a second, in a managed
// namespace and in another one: a second of the one and a second of the other in
// turn, 20 of each. A create does not wait for the one before.
func BenchmarkAdmission(b *testing.B) {
	const perSecond, seconds = 100, 20
	for b.Loop() {
		s := startServer(b)
		s.fleet(b, 20)
		s.projects(b, 10, 50, 10)
		s.create(b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "plain"}})
		s.letTenantsIn(b)
		d := s.deploy(b)
		d.replica(b)
		d.replica(b)
		var users []client.Client
		for i := range people {
			users = append(users, s.as(b, person(i)))
		}
		s.awaitAdmission(b, users)
		var samples [2][]time.Duration
		var mu sync.Mutex
		var creates sync.WaitGroup
		before := spent()
		tick := time.NewTicker(time.Second / perSecond)
		for i := range 2 * seconds * perSecond {
			<-tick.C
			side := i / perSecond % 2
			namespace := []string{project(i % 10), "plain"}[side]
			creates.Go(func() {
				began := time.Now()
				err := users[i%people].Create(context.Background(), ask(namespace, fmt.Sprintf("pod-%d", i)))
				took := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					b.Errorf("create a pod in %s: %v", namespace, err)
					return
				}
				samples[side] = append(samples[side], took)
			})
		}
		tick.Stop()
		creates.Wait()
		effort := spent().since(before, 2*seconds*perSecond)
		managed, plain := samples[0], samples[1]
		raw := []string{
			spread("managed", managed), spread("not managed", plain),
			fmt.Sprintf("added: p50 %.2f, p99 %.2f ms", at(managed, 0.5)-at(plain, 0.5), at(managed, 0.99)-at(plain, 0.99)),
			effort, "two replicas; gates are opened meanwhile; pods exist in the API alone",
		}
		figure(b, "quota.webhook_p99_ms", at(managed, 0.99), "ms", raw...)
		figure(b, "quota.webhook_added_p50_ms", at(managed, 0.5)-at(plain, 0.5), "ms")
		figure(b, "quota.webhook_added_p99_ms", at(managed, 0.99)-at(plain, 0.99), "ms")
	}
}

// awaitAdmission waits until the webhooks and policies are in force, and has every
// person's connection made.
func (s *server) awaitAdmission(b *testing.B, users []client.Client) {
	b.Helper()
	for i, u := range users {
		eventually(b, "admission", time.Minute, func() error {
			for n := range 20 {
				pod := ask(project(n%10), fmt.Sprintf("probe-%d-%d", i, n))
				if err := u.Create(context.Background(), pod, client.DryRunAll); err != nil {
					return err
				}
				if len(pod.Spec.SchedulingGates) == 0 {
					return errNotYet
				}
			}
			return nil
		})
	}
}
