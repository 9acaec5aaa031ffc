// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// The limits of the adversarial tests: projects share the nodes, people the projects.
const (
	projectLimit = 24
	userLimit    = 9
)

// arena is three projects of one part of the test, whose quotas are far below what
// will be asked for.
type arena struct {
	*apiServer
	projects, people []string
}

// TestUnderAdversity starts one API server for all parts, since that takes seconds.
// In every part an auditor sees each state that the pods go through.
func TestUnderAdversity(t *testing.T) {
	c := startCluster(t)
	c.set(t, "small", 6300)
	for i := range 4 {
		c.node(t, fmt.Sprintf("n%d", i), 6)
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *arena, *auditor)
	}{
		{"a thousand pods at the edge of their quotas", testEdge},
		{"a leader that is killed between intent and opening", testKilled},
		{"two leaders at once", testTwoLeaders},
		{"an API server that stalls and loses answers", testStalls},
		{"a controller that was down", testDown},
	} {
		t.Run(part.name, func(t *testing.T) {
			a := &arena{apiServer: c, people: []string{"ann", "bo", "cy", "di"}}
			limits := map[string]int{}
			for _, color := range []string{"red", "green", "blue"} {
				p := fmt.Sprintf("%s-%d", color, rand.IntN(1_000_000))
				a.projects = append(a.projects, p)
				c.project(t, p)
				c.quota(t, p, api.QuotaScope{Project: p}, projectLimit)
				c.quota(t, p+"-each", api.QuotaScope{Project: p, EachUser: true}, userLimit)
				limits[p] = projectLimit
				for _, u := range a.people {
					limits[p+"/"+u] = userLimit
				}
				c.mustCreate(t, &api.PriorityQueue{ObjectMeta: metav1.ObjectMeta{Name: p}, Spec: api.PriorityQueueSpec{Policy: api.FirstScheduling}})
			}
			part.run(t, a, c.audit(t, limits))
			for _, p := range a.projects {
				if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(p), client.GracePeriodSeconds(0)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// crowd makes n pods at once, from many sides. Each name is created twice, of which
// one must fail, and some creates are refused for other reasons.
func (c *arena) crowd(t *testing.T, prefix string, n int) {
	t.Helper()
	work := make(chan int)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range work {
				pod := gatedPod(c.projects[i%len(c.projects)], c.people[i/len(c.projects)%len(c.people)], fmt.Sprintf("%s-%d", prefix, i))
				if i%2 == 0 {
					pod = ownedBy(pod, "Job", fmt.Sprintf("%s-job-%d", prefix, i/10), fmt.Sprintf("uid-%s-%d", prefix, i/10))
				}
				if i%7 == 0 {
					denied := pod.DeepCopy()
					denied.Spec.Containers[0].Name = "Not A Name"
					if err := c.Create(t.Context(), denied); !apierrors.IsInvalid(err) {
						t.Errorf("a create that must be refused: %v", err)
					}
				}
				again := pod.DeepCopy()
				if err := c.Create(t.Context(), pod); err != nil {
					t.Errorf("create %s: %v", pod.Name, err)
				}
				if err := c.Create(t.Context(), again); !apierrors.IsAlreadyExists(err) {
					t.Errorf("a second create of %s: %v", pod.Name, err)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	workers.Wait()
}

// meddle changes pods at random, so that openings meet conflicts, until the test
// stops it.
func (c *arena) meddle(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			var list corev1.PodList
			if err := c.List(ctx, &list); err != nil {
				continue
			}
			for _, i := range rand.Perm(len(list.Items))[:min(len(list.Items), 50)] {
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/meddled":"%d"}}}`, n)
				_ = c.Patch(ctx, &list.Items[i], client.RawPatch("application/merge-patch+json", []byte(patch)))
			}
		}
	})
	return func() { cancel(); workers.Wait() }
}

// meddleWith changes the pod that an opening is for, just before it arrives.
func (c *arena) meddleWith(opening *http.Request) {
	parts := strings.Split(opening.URL.Path, "/") // /api/v1/namespaces/NAMESPACE/pods/NAME
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: parts[4], Name: parts[6]}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/meddled":"%d"}}}`, rand.Int())
	_ = c.Patch(opening.Context(), pod, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// kubelet ends open pods, some by success, some by deletion, until the test stops it.
func (c *arena) kubelet(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() {
		for ctx.Err() == nil {
			var ends sync.WaitGroup
			for _, pod := range c.open(ctx) {
				ends.Go(func() {
					if rand.IntN(2) == 0 {
						_ = c.Delete(ctx, pod)
						return
					}
					patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`))
					_ = c.Status().Patch(ctx, pod, patch)
				})
			}
			ends.Wait()
		}
	})
	return func() { cancel(); workers.Wait() }
}

// open lists the pods that are charged now.
func (c *arena) open(ctx context.Context) []*corev1.Pod {
	var list corev1.PodList
	if err := c.List(ctx, &list); err != nil {
		return nil
	}
	var out []*corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; isOpen(p) && p.Status.Phase == corev1.PodPending && slices.Contains(c.projects, p.Namespace) {
			out = append(out, p)
		}
	}
	return out
}

// drain ends pods until none waits any more.
func (c *arena) drain(t *testing.T, within time.Duration) {
	t.Helper()
	stop := c.kubelet(t)
	defer stop()
	deadline := time.Now().Add(within)
	for {
		var list corev1.PodList
		if err := c.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		waiting := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return isOpen(&p) })
		if len(waiting) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d pods still wait, %s/%s for one: something is leaked", len(waiting), waiting[0].Namespace, waiting[0].Name)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// requireNothingLeaked fills every project anew: all of each limit must be there.
func (c *arena) requireNothingLeaked(t *testing.T, r *replica) {
	t.Helper()
	for _, pod := range c.open(t.Context()) {
		if err := c.Delete(t.Context(), pod); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.projects {
		for i := range projectLimit + 3 {
			c.mustCreate(t, gatedPod(p, c.people[i%3], fmt.Sprintf("refill-%d", i)))
		}
	}
	eventually(t, "all of every quota in use again", func() error {
		counts := map[string]int{}
		for _, pod := range c.open(t.Context()) {
			counts[pod.Namespace]++
		}
		for _, p := range c.projects {
			if counts[p] != projectLimit {
				return fmt.Errorf("%s has %d of %d open", p, counts[p], projectLimit)
			}
		}
		return nil
	})
	if in := r.watch.model.doubted(); len(in) > 0 {
		t.Errorf("%d openings are still of unknown outcome", len(in))
	}
}

func testEdge(t *testing.T, c *arena, audit *auditor) {
	network := newWire()
	r := c.lead(t, "only", network.wrap)
	network.set(func(r *http.Request) fate {
		if rand.IntN(3) == 0 {
			c.meddleWith(r)
		}
		return through
	})
	stopMeddling := c.meddle(t)
	stopEnding := c.kubelet(t)
	c.crowd(t, "pod", 1000)
	stopEnding()
	c.drain(t, 3*time.Minute)
	stopMeddling()
	conflicts, opened := 0, 0
	for len(r.rounds) > 0 {
		round := <-r.rounds
		conflicts += round.Conflicts
		for _, n := range round.Opened {
			opened += n
		}
	}
	if opened != 1000 {
		t.Errorf("the leader says that it opened %d gates of 1000", opened)
	}
	if conflicts < 100 {
		t.Errorf("%d openings met a conflict, want some hundred", conflicts)
	}
	t.Logf("opened %d gates, %d conflicts", opened, conflicts)
	c.requireNothingLeaked(t, r)
	for _, p := range c.projects {
		if most := audit.peak()[p]; most < projectLimit {
			t.Errorf("%s never came to its limit: %d of %d", p, most, projectLimit)
		}
	}
}

func testKilled(t *testing.T, c *arena, _ *auditor) {
	network := newWire()
	first := c.lead(t, "first", network.wrap)
	network.set(func(*http.Request) fate { return held })
	c.crowd(t, "pod", 200)
	eventually(t, "openings on their way", func() error {
		if network.holding() < 10 {
			return fmt.Errorf("%d are", network.holding())
		}
		return nil
	})
	first.end(t)
	c.promoteOthers(t)

	// The next one learns what may be on its way and makes sure that it is not.
	second := c.lead(t, "second", nil)
	eventually(t, "all quotas in use", func() error {
		if n := len(c.open(t.Context())); n != projectLimit*len(c.projects) {
			return fmt.Errorf("%d open", n)
		}
		return nil
	})
	codes := network.release()
	for _, code := range codes {
		if code != http.StatusConflict {
			t.Errorf("an opening of the old leader was answered %d, want 409", code)
		}
	}
	c.drain(t, time.Minute)
	c.requireNothingLeaked(t, second)
}

// promoteOthers moves pods that are in no intent before those that are, so that the
// next leader has no reason of its own to change the latter.
func (c *arena) promoteOthers(t *testing.T) {
	t.Helper()
	r, err := c.record()
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.PodList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"aipub.io/promoted":"a"}}}`))
	for i := range list.Items {
		pod := &list.Items[i]
		if slices.ContainsFunc(r.Batch, func(in intent) bool { return in.UID == string(pod.UID) }) {
			continue
		}
		if err := c.Patch(t.Context(), pod, patch); err != nil {
			t.Fatal(err)
		}
	}
}

func testTwoLeaders(t *testing.T, c *arena, _ *auditor) {
	network := newWire()
	first := c.lead(t, "first", network.wrap)
	eventually(t, "the first leader", func() error { return c.leads("first") })
	// The first one's openings take long to arrive, and it hears of no failure.
	hang := make(chan struct{})
	var hung sync.WaitGroup
	network.set(func(*http.Request) fate {
		hung.Add(1)
		defer hung.Done()
		<-hang
		return through
	})
	c.crowd(t, "pod", 150)
	eventually(t, "an intent of the first", func() error { return c.hasIntent() })
	c.promoteOthers(t)
	second := c.lead(t, "second", nil)
	eventually(t, "all quotas in use", func() error {
		if n := len(c.open(t.Context())); n != projectLimit*len(c.projects) {
			return fmt.Errorf("%d open", n)
		}
		return nil
	})
	close(hang)
	hung.Wait()
	// What it sent was in vain, and the next that it would send shows it why.
	c.drain(t, time.Minute)
	select {
	case <-first.done:
		if !errors.Is(first.err, errDeposed) {
			t.Errorf("the first leader ended with %v, want %v", first.err, errDeposed)
		}
	case <-time.After(time.Minute):
		t.Fatal("the first leader goes on")
	}
	c.requireNothingLeaked(t, second)
}

// record reads the fence.
func (c *apiServer) record() (record, error) {
	f := fence{client: c, name: client.ObjectKey{Namespace: system, Name: FenceName}}
	_, r, err := f.read(context.Background())
	return r, err
}

func (c *apiServer) leads(holder string) error {
	r, err := c.record()
	if err == nil && r.Holder != holder {
		err = fmt.Errorf("%q leads", r.Holder)
	}
	return err
}

func (c *apiServer) hasIntent() error {
	r, err := c.record()
	if err == nil && len(r.Batch) == 0 {
		err = errors.New("there is none")
	}
	return err
}

func testStalls(t *testing.T, c *arena, _ *auditor) {
	network := newWire()
	r := c.lead(t, "only", network.wrap)
	network.set(func(*http.Request) fate {
		return []fate{through, through, lost, answered, late}[rand.IntN(5)]
	})
	stopMeddling := c.meddle(t)
	stopEnding := c.kubelet(t)
	c.crowd(t, "pod", 300)
	stopEnding()
	c.drain(t, 3*time.Minute)
	stopMeddling()
	for _, f := range []fate{lost, answered, late} {
		if network.count(f) == 0 {
			t.Errorf("no opening met fate %d", f)
		}
	}
	network.set(nil)
	network.late.Wait()
	c.requireNothingLeaked(t, r)
}

func testDown(t *testing.T, c *arena, _ *auditor) {
	first := c.lead(t, "first", nil)
	c.crowd(t, "before", 100)
	eventually(t, "all quotas in use", func() error {
		if n := len(c.open(t.Context())); n != projectLimit*len(c.projects) {
			return fmt.Errorf("%d open", n)
		}
		return nil
	})
	first.end(t)
	// Meanwhile some end, more come, and nobody is let in.
	for i, pod := range c.open(t.Context()) {
		if i%2 == 0 {
			if err := c.Delete(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.crowd(t, "during", 100)
	if n, want := len(c.open(t.Context())), projectLimit*len(c.projects)/2; n != want {
		t.Errorf("%d are open while nobody leads, want %d", n, want)
	}
	second := c.lead(t, "second", nil)
	eventually(t, "all quotas in use again", func() error {
		if n := len(c.open(t.Context())); n != projectLimit*len(c.projects) {
			return fmt.Errorf("%d open", n)
		}
		return nil
	})
	c.drain(t, time.Minute)
	c.requireNothingLeaked(t, second)
}
