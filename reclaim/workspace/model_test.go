// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
)

// world is a cluster in which a Workspace lives, whose controller is killed now and
// then between two steps of a plan.
type world struct {
	rng  *rand.Rand
	seen Seen
	pods int
	// work is what was done in the container since it started, at is when it was
	// saved last, per pod.
	work, kept map[types.UID]int
	asked      int // the work there was when the pause was asked for
	log        []string
}

func newWorld(seed uint64) *world {
	w := lab()
	s := Seen{Workspace: w, Now: start}
	return &world{rng: rand.New(rand.NewPCG(seed, 1)), seen: s, work: map[types.UID]int{}, kept: map[types.UID]int{}}
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// control looks once, and is killed after a number of steps.
func (w *world) control(t *testing.T) {
	p := Next(w.seen)
	if again := Next(w.seen); fmt.Sprint(again.Replicas, again.CreateName, again.Prune) != fmt.Sprint(p.Replicas, p.CreateName, p.Prune) {
		t.Fatalf("two looks at the same differ")
	}
	kill := w.rng.IntN(8)
	for i, step := range []func(){
		func() {
			if snap := w.seen.snapshot(p.Lost); snap != nil {
				snap.Status.Phase, snap.Status.Reason = api.SnapshotFailed, p.LostReason
			}
		},
		func() {
			if p.Create != nil && w.seen.snapshot(p.CreateName) == nil {
				w.say("snapshot %s", p.CreateName)
				w.seen.Snapshots = append(w.seen.Snapshots, api.WorkspaceSnapshot{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create})
			}
		},
		func() { w.seen.Workspace.Status = p.Status },
		func() { w.scale(t, p.Replicas) },
		func() {
			for _, name := range p.Prune {
				w.remove(t, name)
			}
		},
	} {
		if i == kill {
			w.say("killed before step %d", i)
			return
		}
		step()
	}
}

// scale is where work could be lost: a container that runs ends.
func (w *world) scale(t *testing.T, replicas int32) {
	made := runner(w.seen.Workspace, replicas)
	made.UID, made.Status.ObservedGeneration = "runner-uid", made.Generation
	if w.seen.Pod != nil {
		made.Status.Replicas = 1
	}
	ends := replicas == 0 && w.seen.Pod != nil && w.seen.Pod.DeletionTimestamp == nil
	if ends && started(w.seen.Pod) && w.kept[w.seen.Pod.UID] < w.asked {
		t.Fatalf("ended with work %d of %d saved:\n%s", w.kept[w.seen.Pod.UID], w.asked, strings.Join(w.log, "\n"))
	}
	w.seen.Runner = made
	if ends {
		w.seen.Pod.DeletionTimestamp = &metav1.Time{Time: w.seen.Now}
		w.say("pod ends")
	}
}

func (w *world) remove(t *testing.T, name string) {
	if saved := w.seen.Workspace.Status.Saved; saved != nil && saved.Snapshot == name {
		t.Fatalf("dropped %s, from which it would start", name)
	}
	kept := w.seen.Snapshots[:0]
	for _, s := range w.seen.Snapshots {
		if s.Name != name {
			kept = append(kept, s)
		}
	}
	w.seen.Snapshots = kept
}

// happen is one thing that users, kubelets and agents do.
func (w *world) happen() {
	pod := w.seen.Pod
	switch w.rng.IntN(9) {
	case 0:
		spec := &w.seen.Workspace.Spec
		spec.Paused = !spec.Paused
		w.seen.Workspace.Generation++
		if spec.Paused && pod != nil {
			w.asked = w.work[pod.UID]
		}
		w.say("paused %t, work %d", spec.Paused, w.asked)
	case 1, 2:
		w.kubelet()
	case 3, 4, 5:
		w.agent()
	case 6:
		if started(pod) {
			w.work[pod.UID]++
		}
	case 7:
		if pod != nil && w.rng.IntN(4) == 0 { // evicted, or its node lost
			w.seen.NodeGone = w.rng.IntN(2) == 0
			w.seen.Pod, w.asked = nil, 0
			w.say("pod lost")
		}
	case 8:
		w.seen.Now = w.seen.Now.Add(time.Duration(w.rng.IntN(600)) * time.Second)
	}
}

func (w *world) kubelet() {
	r := w.seen.Runner
	switch {
	case w.seen.Pod != nil && w.seen.Pod.DeletionTimestamp != nil:
		w.seen.Pod, r.Status.Replicas, w.asked = nil, 0, 0
		w.say("pod gone")
	case w.seen.Pod == nil && r != nil && *r.Spec.Replicas == 1:
		w.pods++
		w.seen.Pod = podOf(r, types.UID(fmt.Sprintf("pod-%d", w.pods)))
		w.seen.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{}
		w.seen.NodeGone, r.Status.Replicas = false, 1
		w.say("pod %d", w.pods)
	case w.seen.Pod != nil && !started(w.seen.Pod):
		w.seen.Pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	}
}

// agent saves what is asked for, or fails to.
func (w *world) agent() {
	for i := range w.seen.Snapshots {
		s := &w.seen.Snapshots[i]
		if !open(s) {
			continue
		}
		switch w.rng.IntN(3) {
		case 0:
			s.Status.Phase, s.Status.Step = api.SnapshotSaving, "Commit"
		case 1:
			s.Status.Phase, s.Status.Reason = api.SnapshotFailed, api.ReasonRegistryFailed
		case 2:
			if w.seen.Pod == nil || string(w.seen.Pod.UID) != s.Spec.PodUID {
				s.Status.Phase, s.Status.Reason = api.SnapshotFailed, api.ReasonContainerGone
				break
			}
			s.Status.Phase, s.Status.Image = api.SnapshotSaved, "saved:"+s.Name
			w.kept[w.seen.Pod.UID] = w.work[w.seen.Pod.UID]
			w.say("saved %s", s.Name)
		}
		return
	}
}

// TestNoWorkIsLostWhateverHappens lets users, kubelets, agents and kills of the
// controller happen in any order.
func TestNoWorkIsLostWhateverHappens(t *testing.T) {
	pauses, resumes := 0, 0
	for seed := range uint64(800) {
		w := newWorld(seed)
		for range 150 {
			w.happen()
			w.control(t)
			if st := w.seen.Workspace.Status; st.Phase == api.PhasePaused && w.seen.Pod != nil && w.seen.Workspace.Spec.Paused && st.Pause.FreedAt != nil {
				t.Fatalf("seed %d: called paused with a pod:\n%v", seed, w.log)
			}
			if w.seen.Workspace.Status.Phase == api.PhasePaused {
				pauses++
			}
			if w.seen.Workspace.Status.Phase == api.PhaseRunning {
				resumes++
			}
		}
	}
	if pauses == 0 || resumes == 0 {
		t.Fatalf("%d looks at a paused one, %d at a running one: the model does not go round", pauses, resumes)
	}
}
