// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// auditor sees every state that pods go through, in the API server's own order, and
// counts what is open. It knows nothing of the code that it measures.
type auditor struct {
	limits map[string]int // by project, and by project/person
	mu     sync.Mutex
	open   map[string]string // UID → project/person
	counts map[string]int
	most   map[string]int
	over   int // the most by which a limit was exceeded
	opened int
	wrong  []string
	gaps   int
}

// audit watches all pods, of which there are none yet, until the benchmark ends.
func (s *server) audit(b *testing.B, limits map[string]int) *auditor {
	b.Helper()
	a := &auditor{limits: limits, open: map[string]string{}, counts: map[string]int{}, most: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	var now corev1.PodList
	must(b, s.List(ctx, &now))
	version := now.ResourceVersion
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			version = a.follow(ctx, s, version)
		}
	}()
	b.Cleanup(func() { cancel(); <-done })
	return a
}

// follow watches from a version on, and returns how far it came. An API server ends
// watches as it likes; a next one goes on where the last one ended.
func (a *auditor) follow(ctx context.Context, s *server, version string) string {
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}
	w, err := s.Watch(ctx, &corev1.PodList{}, from)
	if err != nil {
		return version
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		switch object := e.Object.(type) {
		case *corev1.Pod:
			version = object.ResourceVersion
			a.take(e.Type, object)
		case *metav1.Status:
			if object.Reason == metav1.StatusReasonExpired || object.Reason == metav1.StatusReasonGone {
				a.note("the audit has a gap: " + object.Message)
			}
			return version
		}
	}
	return version
}

func (a *auditor) note(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wrong = append(a.wrong, text)
	a.gaps++
}

func (a *auditor) take(kind watch.EventType, pod *corev1.Pod) {
	charged := kind != watch.Deleted && isOpen(pod) && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	a.mu.Lock()
	defer a.mu.Unlock()
	uid := string(pod.UID)
	was, known := a.open[uid]
	switch {
	case known && !charged:
		a.add(was, -1)
		delete(a.open, uid)
	case !known && charged:
		who := pod.Annotations[api.ProjectAnnotation] + "/" + pod.Annotations[api.UserAnnotation]
		a.open[uid] = who
		a.opened++
		a.add(who, 1)
	}
}

// add counts for a person in a project and for the project.
func (a *auditor) add(who string, n int) {
	name, _, _ := strings.Cut(who, "/")
	for _, key := range []string{who, name} {
		a.counts[key] += n
		a.most[key] = max(a.most[key], a.counts[key])
		if limit, is := a.limits[key]; is && n > 0 && a.counts[key] > limit {
			a.over = max(a.over, a.counts[key]-limit)
			a.wrong = append(a.wrong, fmt.Sprintf("%s had %d open, the limit is %d", key, a.counts[key], limit))
		}
	}
}

func isOpen(pod *corev1.Pod) bool { return len(pod.Spec.SchedulingGates) == 0 }
