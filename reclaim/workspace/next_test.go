// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestThePhaseSaysWhatItWaitsFor(t *testing.T) {
	waiting := func(reason, message string) func(*Seen) {
		return func(s *Seen) {
			s.Pod.Status.Conditions = s.Pod.Status.Conditions[:1]
			s.Pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
		}
	}
	for name, c := range map[string]struct {
		change  func(*Seen)
		phase   api.WorkspacePhase
		reason  string
		message string
	}{
		"runs":   {func(*Seen) {}, api.PhaseRunning, "", ""},
		"no pod": {func(s *Seen) { s.Pod = nil }, api.PhaseQueued, api.ReasonPending, "not made yet"},
		"at the gate": {func(s *Seen) {
			s.Pod.Spec.NodeName = ""
			s.Pod.Status.Conditions = []corev1.PodCondition{{Type: api.ConditionAllocated, Status: corev1.ConditionFalse, Reason: api.ReasonUserQuotaReached, Message: "alice has 1 of 1"}}
		}, api.PhaseQueued, api.ReasonUserQuotaReached, "alice has 1 of 1"},
		"pulls":         {waiting("ContainerCreating", ""), api.PhaseStarting, "ContainerCreating", ""},
		"cannot pull":   {waiting("ImagePullBackOff", "no such image"), api.PhaseStarting, "ImagePullBackOff", "no such image"},
		"no such image": {waiting("InvalidImageName", "bad name"), api.PhaseFailed, "InvalidImageName", "bad name"},
		"crashes": {func(s *Seen) {
			waiting("CrashLoopBackOff", "back-off")(s)
			s.Pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 127}
		}, api.PhaseFailed, "CrashLoopBackOff", "exit code 127"},
		"ends first": {func(s *Seen) { s.Pod.DeletionTimestamp = &metav1.Time{Time: start} }, api.PhaseStarting, "Stopping", "former pod"},
	} {
		t.Run(name, func(t *testing.T) {
			s := running(lab())
			c.change(&s)
			p := Next(s)
			if p.Status.Phase != c.phase || p.Status.Reason != c.reason || !strings.Contains(p.Status.Message, c.message) || p.Replicas != 1 {
				t.Errorf("phase %s, reason %q, message %q, replicas %d", p.Status.Phase, p.Status.Reason, p.Status.Message, p.Replicas)
			}
		})
	}
}

func TestAPauseSavesFirstAndThenFrees(t *testing.T) {
	w := lab()
	w.Spec.Paused, w.Generation = true, 2
	s := running(w)
	p := Next(s)
	if p.Create == nil || p.Create.PodUID != "pod-1" || !p.Create.Commit || p.Replicas != 1 || p.Status.Phase != api.PhaseSaving {
		t.Fatalf("asked for a pause: %+v", p)
	}
	w.Status = p.Status
	s.Snapshots = []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create}}
	if p = Next(s); p.Create != nil || p.Replicas != 1 {
		t.Fatalf("while the agent has it: %+v", p)
	}
	s.Snapshots[0].Status = api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: "saved:1", OnNode: true, Bytes: 5}
	p = Next(s)
	if p.Replicas != 0 || p.Status.Saved == nil || p.Status.Saved.Image != "saved:1" || p.Status.Saved.Node != "n1" || p.Status.Phase != api.PhaseSaving {
		t.Fatalf("saved: %+v", p)
	}
	w.Status = p.Status
	s.Runner = runner(w, 0)
	if p = Next(s); p.Status.Pause.FreedAt != nil {
		t.Fatal("its pod is still there, and its set is called free")
	}
	s.Pod = nil
	if p = Next(s); p.Status.Phase != api.PhasePaused || p.Status.Pause.FreedAt == nil || len(p.Prune) != 0 {
		t.Fatalf("its pod is gone: %+v", p)
	}
	w.Status = p.Status
	w.Spec.Paused = false
	p = Next(s)
	if !p.Resumed || p.Replicas != 1 || p.Status.Pause != nil {
		t.Fatalf("resumed: %+v", p)
	}
	w.Status = p.Status
	if spec := podSpec(w); spec.Containers[0].Image != "saved:1" || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0] != "n1" {
		t.Errorf("it comes back as %s on %v", spec.Containers[0].Image, spec.Affinity)
	}
}

func TestWhatCannotBeSavedStaysUpAndIsToldAndTriedAgain(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	p := Next(s)
	w.Status = p.Status
	s.Snapshots = []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create,
		Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotFailed, Reason: api.ReasonDiskFull, Message: "no space left"}}}
	p = Next(s)
	if p.Replicas != 1 || p.Status.Phase != api.PhaseRunning || p.After <= 0 || len(p.Events) != 1 || !p.Events[0].Warning {
		t.Fatalf("after the failure: %+v", p)
	}
	w.Status = p.Status
	if again := Next(s); again.Create != nil || len(again.Events) != 0 {
		t.Errorf("before it is time: %+v", again)
	}
	s.Now = start.Add(-24 * time.Hour) // the clock was set back
	if p = Next(s); p.Create == nil {
		t.Errorf("it waits for a time that is a day away: %+v", p)
	}
	s.Now = w.Status.Pause.RetryAt.Time
	p = Next(s)
	if p.Create == nil || p.CreateName == w.Status.Pause.Snapshot || p.Status.Pause.Attempts != 2 {
		t.Errorf("when it is time: %+v", p)
	}
}

func TestASaveThatTheAgentsEndInterruptedIsTriedAgainSoonOnce(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	for attempt, want := range []time.Duration{interruptedWait, 2 * time.Minute} {
		p := Next(s)
		w.Status = p.Status
		s.Snapshots = append(s.Snapshots, api.WorkspaceSnapshot{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create,
			Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotFailed, Reason: api.ReasonInterrupted, Message: "the agent ended"}})
		if p = Next(s); p.After != want {
			t.Errorf("attempt %d is tried again after %s, want %s", attempt+1, p.After, want)
		}
		w.Status = p.Status
		s.Now = w.Status.Pause.RetryAt.Time
	}
}

func TestASnapshotOfAnEarlierPauseIsNotTakenForThisOne(t *testing.T) {
	w := lab()
	w.Spec.Paused, w.Generation = true, 2
	s := running(w)
	first := Next(s)
	saved := api.WorkspaceSnapshot{ObjectMeta: metav1.ObjectMeta{Name: first.CreateName}, Spec: *first.Create, Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved}}
	// Called off before it was noted, worked on, and paused again.
	w.Spec.Paused, w.Generation, w.Status = false, 3, first.Status
	s.Snapshots = []api.WorkspaceSnapshot{saved}
	off := Next(s)
	if off.Resumed || off.Status.Pause != nil || off.Replicas != 1 {
		t.Fatalf("called off: %+v", off)
	}
	w.Spec.Paused, w.Generation, w.Status = true, 4, off.Status
	if p := Next(s); p.Replicas != 1 || p.Create == nil || p.CreateName == first.CreateName {
		t.Errorf("paused again: %+v", p)
	}
}

func TestAChangedSpecWaitsForTheNextStart(t *testing.T) {
	w := lab()
	s := running(w)
	w.Spec.Image = "notebook:2"
	s.Runner = runner(w, 1)
	p := Next(s)
	for _, c := range p.Status.Conditions {
		if c.Type == api.ConditionRestartNeeded && c.Status != metav1.ConditionTrue {
			t.Error("nobody is told that the change waits")
		}
	}
	if p.Replicas != 1 || p.Status.Phase != api.PhaseRunning {
		t.Errorf("%+v", p)
	}
}

func TestAnotherImageOrAWishStartsFromTheImage(t *testing.T) {
	w := lab()
	w.Status.Saved = &api.SavedState{Snapshot: "s1", Image: "saved:1", BaseImage: "notebook:1"}
	if got := podSpec(w).Containers[0].Image; got != "saved:1" {
		t.Errorf("starts from %s", got)
	}
	w.Annotations[api.FromImageAnnotation] = "s1"
	if got := podSpec(w).Containers[0].Image; got != "notebook:1" {
		t.Errorf("asked for the image, starts from %s", got)
	}
	delete(w.Annotations, api.FromImageAnnotation)
	w.Spec.Image = "notebook:2"
	if got := podSpec(w).Containers[0].Image; got != "notebook:2" {
		t.Errorf("another image is wanted, starts from %s", got)
	}
}

func TestASavedStateOnALostNodeIsSaidAndNotDropped(t *testing.T) {
	w := lab()
	w.Status.Saved = &api.SavedState{Snapshot: "s1", Image: "saved:1", BaseImage: "notebook:1", Node: "n1"}
	s := Seen{Workspace: w, Runner: runner(w, 0), SavedNodeGone: true, Now: start,
		Snapshots: []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: "s1"}, Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved}}}}
	p := Next(s)
	if p.Replicas != 0 || p.Status.Phase != api.PhaseFailed || p.Status.Reason != api.ReasonSavedStateGone || len(p.Prune) != 0 {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(p.Status.Message, "--from-image") {
		t.Errorf("message %q says no way out", p.Status.Message)
	}
}

func TestALostNodeIsNotAskedAgainAndAgain(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	p := Next(s)
	w.Status = p.Status
	s.Snapshots = []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create}}
	if p = Next(s); p.Status.Phase != api.PhaseSaving {
		t.Fatalf("its node is there: %+v", p)
	}
	s.NodeGone = true
	p = Next(s)
	if p.Lost != s.Snapshots[0].Name || p.Create != nil || p.Replicas != 1 {
		t.Fatalf("its node is gone: %+v", p)
	}
	w.Status, s.Snapshots[0].Status.Phase = p.Status, api.SnapshotFailed
	if p = Next(s); p.Create != nil || p.Replicas != 1 {
		t.Errorf("it asks a node that is gone: %+v", p)
	}
	s.Pod = nil
	p = Next(s)
	if p.Replicas != 0 || len(p.Events) != 1 || !p.Events[0].Warning || !strings.Contains(p.Events[0].Message, "before its file system was saved") {
		t.Errorf("its pod is gone as well: %+v", p)
	}
	w.Status = p.Status
	if p = Next(s); len(p.Events) != 0 {
		t.Errorf("it is told again: %+v", p.Events)
	}
}

func TestAWorkspaceOfNoProjectIsToldSo(t *testing.T) {
	w := lab()
	delete(w.Annotations, api.ProjectAnnotation)
	p := Next(Seen{Workspace: w, Now: start})
	if p.Replicas != 0 || p.Status.Phase != api.PhaseFailed || p.Status.Reason != api.ReasonUnmanaged || !strings.Contains(p.Status.Message, api.ProjectLabel) {
		t.Errorf("%+v", p)
	}
}

func TestAChangedImageIsWhatItStartsFromNext(t *testing.T) {
	w := lab()
	s := running(w)
	w.Spec.Image, w.Spec.Paused = "notebook:2", true
	p := Next(s)
	if p.Create == nil || p.Create.BaseImage != "notebook:1" {
		t.Fatalf("what ran was made from notebook:1: %+v", p.Create)
	}
	w.Status.Saved = &api.SavedState{Snapshot: "s1", Image: "saved:1", BaseImage: p.Create.BaseImage}
	if got := podSpec(w).Containers[0].Image; got != "notebook:2" {
		t.Errorf("it starts from %s", got)
	}
	w.Spec.Image = "notebook:1"
	if got := podSpec(w).Containers[0].Image; got != "saved:1" {
		t.Errorf("set back, it starts from %s", got)
	}
}

func TestANameThatIsTakenIsSaidAndNothingOfItTouched(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	p := Next(Seen{Workspace: w, Taken: true, Now: start})
	if p.Status.Phase != api.PhaseFailed || p.Create != nil || p.Replicas != 0 || !strings.Contains(p.Status.Message, "belongs to another") {
		t.Errorf("%+v", p)
	}
}

func TestAPodThatItsStatefulSetLeftBehindIsSavedFirst(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	s.Runner = nil
	s.Pod.Labels, s.Pod.OwnerReferences = map[string]string{api.WorkspaceLabel: "lab"}, nil
	s.Pod.Annotations[api.UserAnnotation] = "alice"
	if !s.ours(s.Pod) {
		t.Fatal("it is not seen as the Workspace's")
	}
	if p := Next(s); p.Create == nil || p.Status.Pause.FreedAt != nil {
		t.Errorf("%+v", p)
	}
	s.Pod.Annotations[api.UserAnnotation] = "bob"
	if s.ours(s.Pod) {
		t.Error("another's pod is taken for it")
	}
}

func TestLongFailuresAreCut(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	p := Next(s)
	w.Status = p.Status
	s.Snapshots = []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create,
		Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotFailed, Reason: api.ReasonHookFailed, Message: strings.Repeat("ä", 30_000)}}}
	p = Next(s)
	if len(p.Events) != 1 || len(p.Events[0].Message) > longestNote {
		t.Errorf("%d events", len(p.Events))
	}
}

func TestWhatWasSavedLongAgoIsSavedAgain(t *testing.T) {
	w := lab()
	w.Spec.Paused = true
	s := running(w)
	p := Next(s)
	w.Status = p.Status
	finished := metav1.NewTime(start)
	s.Snapshots = []api.WorkspaceSnapshot{{ObjectMeta: metav1.ObjectMeta{Name: p.CreateName}, Spec: *p.Create,
		Status: api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: "saved:1", FinishedAt: &finished}}}
	s.Now = start.Add(48 * time.Hour) // no controller was there to end it
	if p = Next(s); p.Replicas != 1 || p.Create == nil || p.CreateName == s.Snapshots[0].Name {
		t.Errorf("%+v", p)
	}
	s.Snapshots[0].CreationTimestamp = metav1.NewTime(s.Now.Add(-time.Minute)) // so the clock of its node is behind
	if p = Next(s); p.Replicas != 0 || p.Create != nil {
		t.Errorf("what was just saved on a node whose clock is behind is saved again: %+v", p)
	}
}
