// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	edgeProjects, edgePeople = 3, 4
	projectLimit             = 24
	personLimit              = 9

	atOnce = 100
)

var edgePods = flag.Int("pods", 1000, "how many pods are made at the edge of the quotas")

// BenchmarkAdversity makes many pods at the edge of the quotas of their projects and
// people, through the webhooks, each twice at once, with creates that are refused and
// creates that fail between; meanwhile pods end, others change just as their gates are
// opened, the leader is killed, cut off and held up, again and again. An auditor sees
// each state that the pods go through. Afterwards all of every quota must be there.
func BenchmarkAdversity(b *testing.B) {
	for b.Loop() {
		s := startServer(b)
		s.fleet(b, 6)
		s.projects(b, edgeProjects, projectLimit, personLimit)
		s.letTenantsIn(b)
		limits := map[string]int{}
		for p := range edgeProjects {
			limits[project(p)] = projectLimit
			for u := range edgePeople {
				limits[project(p)+"/"+person(u)] = personLimit
			}
		}
		a := s.audit(b, limits)
		c := &chaos{deployment: s.deploy(b)}
		c.wired = true
		c.replicas = []*replica{c.replica(b), c.replica(b)}
		e := &edge{server: s}
		for u := range edgePeople {
			e.users = append(e.users, s.as(b, person(u)))
		}
		stopEnding, stopMeddling := background(e.end), background(e.meddle)
		created := background(e.crowd)
		c.until(b, e.drained)
		created()
		stopMeddling()
		stopEnding()
		leaked := e.refill(b)
		a.report(b, c, e, leaked)
	}
}

func (a *auditor) report(b *testing.B, c *chaos, e *edge, leaked int) {
	b.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	raw := append(slices.Clone(a.wrong), fmt.Sprintf("%d pods, %d creates at once; %d gates opened; %d creates made pods, %d were told that the name exists, %d were refused, %d failed; %s",
		*edgePods, atOnce, a.opened, e.made, e.existed, e.refused, e.failed, c.says()))
	if a.gaps > 0 {
		b.Fatalf("not every state was seen, so nothing is proven: %s", strings.Join(raw, "; "))
	}
	for p := range edgeProjects {
		if a.most[project(p)] < projectLimit {
			b.Errorf("%s had at most %d of %d open: nothing was at the edge", project(p), a.most[project(p)], projectLimit)
		}
	}
	figure(b, "quota.oversubscribed", float64(a.over), "pods", raw...)
	figure(b, "quota.leaked_slots", float64(leaked), "slots", raw...)
}

// background runs something; what it returns stops that and waits for it.
func background(run func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); run(ctx) }()
	return func() { cancel(); <-done }
}

// edge is the crowd and what happens to its pods.
type edge struct {
	*server
	users                          []client.Client
	mu                             sync.Mutex
	over                           bool // every pod was made
	made, existed, refused, failed int
}

func (e *edge) count(n *int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*n++
}

// crowd makes all pods at once, each twice, as far as the machine can have creates
// under way at once.
func (e *edge) crowd(ctx context.Context) {
	var creates sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range *edgePods {
		for range 2 {
			slots <- struct{}{}
			creates.Go(func() { e.insist(ctx, i); <-slots })
		}
	}
	creates.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
}

// insist makes a pod, as often as it takes. Some ask first for what is refused: by
// the API server, or by the webhooks.
func (e *edge) insist(ctx context.Context, i int) {
	user := e.users[i/edgeProjects%edgePeople]
	pod := ask(project(i%edgeProjects), fmt.Sprintf("edge-%d", i))
	if i%7 == 0 {
		denied := pod.DeepCopy()
		denied.Spec.Containers[0].Name = "Not A Name"
		e.tally(user.Create(ctx, denied))
	}
	if i%5 == 0 {
		denied := pod.DeepCopy()
		denied.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("63")
		e.tally(user.Create(ctx, denied))
	}
	for ctx.Err() == nil && !e.tally(user.Create(ctx, pod.DeepCopy())) {
		time.Sleep(100 * time.Millisecond)
	}
}

// tally counts what came of a create, and reports whether the pod exists now.
func (e *edge) tally(err error) bool {
	switch {
	case err == nil:
		e.count(&e.made)
	case apierrors.IsAlreadyExists(err):
		e.count(&e.existed)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		e.count(&e.refused)
		return false
	default:
		e.count(&e.failed)
		return false
	}
	return true
}

// meddle changes waiting pods, so that openings meet conflicts.
func (e *edge) meddle(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		pods := e.pods(ctx, func(p *corev1.Pod) bool { return !isOpen(p) })
		for _, i := range rand.Perm(len(pods))[:min(len(pods), 100)] {
			patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/meddled":"%d"}}}`, n)
			_ = e.Patch(ctx, pods[i], client.RawPatch("application/merge-patch+json", []byte(patch)))
		}
	}
}

// end ends open pods, some by success, some by deletion.
func (e *edge) end(ctx context.Context) {
	for ctx.Err() == nil {
		for _, pod := range e.pods(ctx, func(p *corev1.Pod) bool { return isOpen(p) && p.Status.Phase == corev1.PodPending }) {
			if rand.IntN(2) == 0 {
				_ = e.Delete(ctx, pod, client.GracePeriodSeconds(0))
				continue
			}
			_ = e.Status().Patch(ctx, pod, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`)))
		}
	}
}

func (e *edge) pods(ctx context.Context, which func(*corev1.Pod) bool) []*corev1.Pod {
	var list corev1.PodList
	if err := e.List(ctx, &list); err != nil {
		return nil
	}
	var out []*corev1.Pod
	for i := range list.Items {
		if which(&list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// drained reports whether every pod was made and none waits any more.
func (e *edge) drained() bool {
	e.mu.Lock()
	over := e.over
	e.mu.Unlock()
	var list corev1.PodList
	if !over || e.List(context.Background(), &list) != nil {
		return false
	}
	for i := range list.Items {
		if !isOpen(&list.Items[i]) {
			return false
		}
	}
	return true
}

// refill ends everything and fills each project anew. It returns how many slots of
// the quotas are not to be had any more.
func (e *edge) refill(b *testing.B) (leaked int) {
	b.Helper()
	ctx := context.Background()
	for _, pod := range e.pods(ctx, func(*corev1.Pod) bool { return true }) {
		must(b, client.IgnoreNotFound(e.Delete(ctx, pod, client.GracePeriodSeconds(0))))
	}
	for p := range edgeProjects {
		for i := range projectLimit + 3 {
			pod := ask(project(p), fmt.Sprintf("again-%d", i))
			eventually(b, "a pod to fill up with", time.Minute, func() error { return e.users[i%3].Create(ctx, pod.DeepCopy()) })
		}
	}
	want := projectLimit * edgeProjects
	deadline := time.Now().Add(time.Minute)
	for leaked = want; leaked > 0 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		leaked = want - len(e.pods(ctx, isOpen))
	}
	return leaked
}
