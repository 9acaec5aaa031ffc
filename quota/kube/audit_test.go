// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// auditor sees every state that the pods of the cluster go through, in the order of
// the API server's own record, and counts for each what is charged: gates that are
// open, of pods that have not ended. It knows nothing of the code under test.
type auditor struct {
	limits map[string]int // by project, or project/user
	mu     sync.Mutex
	open   map[string]*corev1.Pod
	seen   int
	most   map[string]int
	opened int // gates that were seen to open
	wrong  []string
}

// audit starts an auditor on a cluster without pods.
func (c *apiServer) audit(t *testing.T, limits map[string]int) *auditor {
	t.Helper()
	a := &auditor{limits: limits, open: map[string]*corev1.Pod{}, most: map[string]int{}}
	var list corev1.PodList
	if err := c.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	version := list.ResourceVersion
	for i := range list.Items {
		a.take(watch.Added, &list.Items[i])
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			version = a.follow(ctx, c, version)
		}
	}()
	t.Cleanup(func() { cancel(); <-done; a.require(t) })
	return a
}

// follow watches from a version on, and returns how far it came.
func (a *auditor) follow(ctx context.Context, c *apiServer, version string) string {
	w, err := c.Watch(ctx, &corev1.PodList{}, &client.ListOptions{Raw: fromVersion(version)})
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return version
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		pod, ok := e.Object.(*corev1.Pod)
		if !ok && ctx.Err() != nil {
			return version
		}
		if !ok {
			a.note(fmt.Sprintf("the audit has a gap: %v", e.Object))
			return version
		}
		version = pod.ResourceVersion
		a.take(e.Type, pod)
	}
	return version
}

func (a *auditor) note(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, text)
}

func (a *auditor) take(kind watch.EventType, pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen++
	uid := string(pod.UID)
	charged := kind != watch.Deleted && len(pod.Spec.SchedulingGates) == 0 &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	if !charged {
		delete(a.open, uid)
		return
	}
	if a.open[uid] == nil {
		a.opened++
	}
	a.open[uid] = pod
	counts := map[string]int{}
	for _, p := range a.open {
		project := p.Annotations[api.ProjectAnnotation]
		counts[project]++
		counts[project+"/"+p.Annotations[api.UserAnnotation]]++
	}
	for key, n := range counts {
		a.most[key] = max(a.most[key], n)
		if limit, is := a.limits[key]; is && n > limit {
			a.wrong = append(a.wrong, fmt.Sprintf("%s had %d open when %s/%s was opened (version %s), the limit is %d",
				key, n, pod.Namespace, pod.Name, pod.ResourceVersion, limit))
		}
	}
}

// require fails the test for every state in which a limit was exceeded.
func (a *auditor) require(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, w := range a.wrong {
		if i == 10 {
			t.Errorf("and %d more", len(a.wrong)-i)
			break
		}
		t.Error(w)
	}
	if a.seen == 0 {
		t.Error("the auditor saw nothing")
	}
	a.wrong = nil
}

// peak is the most that was open at once, by project and project/user.
func (a *auditor) peak() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.most)
}
