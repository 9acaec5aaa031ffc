// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// pause is for one that shall be paused. It holds its set until its work is saved.
func (s *Seen) pause(p *Plan) {
	if p.Status.Pause == nil {
		p.Status.Pause = &api.Pause{At: metav1.NewTime(s.Now), Reason: api.ReasonRequested}
		p.tell(api.ReasonPausing, "it is being paused")
	}
	switch {
	case s.gone():
		s.paused(p)
	case s.stopped() || s.saved(p):
		p.Replicas = 0
		s.unsaved(p)
		p.phase(s, api.PhaseSaving, "Stopping", "its processes end")
	}
}

// unsaved says of one that somebody else stopped that its work was not saved.
func (s *Seen) unsaved(p *Plan) {
	needs := s.Workspace.Spec.BeforePause != nil || s.wanted()
	current := s.snapshot(p.Status.Pause.Snapshot)
	if s.stopped() && needs && p.Status.Pause.Attempts > 0 && (current == nil || current.Status.Phase != api.SnapshotSaved) {
		p.lose(s, "it was stopped before its file system was saved; its volumes are kept")
	}
}

// lose says, once in a pause, that what its container had is gone.
func (p *Plan) lose(s *Seen, message string) {
	said := meta.FindStatusCondition(s.Workspace.Status.Conditions, api.ConditionSaved)
	if said == nil || said.Reason != api.ReasonContainerGone || said.ObservedGeneration != s.Workspace.Generation {
		p.warn(api.ReasonSaveFailed, "%s", message)
	}
	p.condition(s, metav1.Condition{Type: api.ConditionSaved, Status: metav1.ConditionFalse, Reason: api.ReasonContainerGone, Message: message})
}

// paused says that nothing holds its set any more.
func (s *Seen) paused(p *Plan) {
	p.Replicas = 0
	p.Status.Node = ""
	pause := p.Status.Pause
	if pause.FreedAt == nil {
		now := metav1.NewTime(s.Now)
		pause.FreedAt = &now
		p.tell(api.ReasonPaused, "%s", s.pausedSentence(pause))
	}
	p.phase(s, api.PhasePaused, pause.Reason, s.pausedSentence(pause))
}

func (s *Seen) pausedSentence(pause *api.Pause) string {
	why := "as was asked for"
	if pause.Reason != api.ReasonRequested && pause.By != "" {
		why = fmt.Sprintf("by ReclaimPolicy %s (%s)", pause.By, pause.Reason)
	}
	return fmt.Sprintf("its set is free, %s. Start it again: kubectl aipub workspace resume -n %s %s", why, s.Workspace.Namespace, s.Workspace.Name)
}

// saved drives the snapshot of a pause, and reports whether its work is saved or there
// is none to save.
func (s *Seen) saved(p *Plan) bool {
	if s.Workspace.Spec.BeforePause == nil && !s.wanted() {
		return true
	}
	current := s.current(p.Status.Pause)
	switch {
	case current == nil:
	case current.Status.Phase == api.SnapshotSaved && (s.Pod == nil || current.Spec.PodUID == string(s.Pod.UID)) && s.fresh(current):
		s.take(p, current)
		return true
	case open(current) && !s.lost(p, current):
		p.phase(s, api.PhaseSaving, string(current.Status.Phase), step(current))
		return false
	}
	return s.attempt(p, current)
}

// stale is how old a saved file system may be when its container is ended. It is older
// where nobody was there to end it; people may have gone on working.
const stale = 10 * time.Minute

// The time is its node's, whose clock may be behind: nothing is saved before it is asked for.
func (s *Seen) fresh(w *api.WorkspaceSnapshot) bool {
	at := w.Status.FinishedAt
	return at == nil || s.Now.Sub(at.Time) < stale || s.Now.Sub(w.CreationTimestamp.Time) < stale
}

// current is the snapshot of this pause; nil before it is asked for. One of a pause that
// was called off, perhaps unseen, is not.
func (s *Seen) current(pause *api.Pause) *api.WorkspaceSnapshot {
	current := s.snapshot(pause.Snapshot)
	if current != nil && !strings.HasPrefix(current.Name, s.attempts()) {
		pause.RetryAt = nil
		return nil
	}
	return current
}

// attempt asks for a snapshot when it is time, and reports whether there is nothing to
// save. The last one failed, is lost, or there is none.
func (s *Seen) attempt(p *Plan, last *api.WorkspaceSnapshot) (nothing bool) {
	pause := p.Status.Pause
	switch {
	case s.NodeGone && s.Pod != nil:
		// Whether the container runs nobody knows; its pod goes when the node is given up.
		p.phase(s, api.PhaseSaving, api.ReasonNodeLost, fmt.Sprintf("node %s is not in the cluster; waiting for its pod to be given up", s.Pod.Spec.NodeName))
	case !started(s.Pod):
		return s.nothingRuns(p)
	case last != nil && last.Status.Phase == api.SnapshotFailed && pause.RetryAt == nil:
		s.failed(p, last)
	case s.rests(pause):
		p.After = pause.RetryAt.Sub(s.Now)
	default:
		s.begin(p)
	}
	return false
}

// rests reports whether it is too early to try again. What is further away than any wait
// is of a clock that was set back since.
func (s *Seen) rests(pause *api.Pause) bool {
	return pause.RetryAt != nil && s.Now.Before(pause.RetryAt.Time) && pause.RetryAt.Sub(s.Now) <= reclaim.Backoff(int(pause.Attempts))
}

// open reports whether an agent has still to finish a snapshot.
func open(w *api.WorkspaceSnapshot) bool {
	return w.Status.Phase != api.SnapshotSaved && w.Status.Phase != api.SnapshotFailed
}

func step(w *api.WorkspaceSnapshot) string {
	if w.Status.Step == "" {
		return fmt.Sprintf("node %s is asked to save its work (WorkspaceSnapshot %s)", w.Spec.Node, w.Name)
	}
	return fmt.Sprintf("node %s saves its work: %s (WorkspaceSnapshot %s)", w.Spec.Node, w.Status.Step, w.Name)
}

// lost marks a snapshot that nobody will finish.
func (s *Seen) lost(p *Plan, w *api.WorkspaceSnapshot) bool {
	switch {
	case s.NodeGone:
		p.Lost, p.LostReason = w.Name, api.ReasonNodeLost
	case s.Pod == nil || string(s.Pod.UID) != w.Spec.PodUID:
		p.Lost, p.LostReason = w.Name, api.ReasonContainerGone
	default:
		return false
	}
	return true
}

// nothingRuns is for a pod whose container does not run: there is nothing to save that
// a snapshot could reach.
func (s *Seen) nothingRuns(p *Plan) bool {
	if p.Status.Pause.Attempts > 0 {
		p.lose(s, "its container ended before its file system was saved; its volumes are kept")
	}
	return true
}

// attempts is how the names of this pause's snapshots begin. Each toggle of spec.paused
// is a new generation: what an earlier pause saved, and was then called off, is never
// taken for what this one saves.
func (s *Seen) attempts() string {
	return fmt.Sprintf("%s-%d-", s.Workspace.Name, s.Workspace.Generation)
}

// begin asks for a snapshot.
func (s *Seen) begin(p *Plan) {
	pause := p.Status.Pause
	pause.Attempts++
	pause.RetryAt = nil
	p.CreateName = fmt.Sprintf("%s%d", s.attempts(), pause.Attempts)
	pause.Snapshot = p.CreateName
	p.Create = &api.WorkspaceSnapshotSpec{
		Workspace: s.Workspace.Name, WorkspaceUID: string(s.Workspace.UID),
		Node: s.Pod.Spec.NodeName, Pod: s.Pod.Name, PodUID: string(s.Pod.UID), Container: containerName,
		BaseImage: s.madeFrom(), Hook: s.Workspace.Spec.BeforePause, Commit: s.wanted(),
		MaxSize: quantity(s.Save.MaxBytes),
	}
	p.phase(s, api.PhaseSaving, string(api.SnapshotPending), fmt.Sprintf("node %s is asked to save its work (WorkspaceSnapshot %s)", p.Create.Node, p.CreateName))
}

// madeFrom is the spec.image that its pod was made from, which may be another by now.
func (s *Seen) madeFrom() string {
	if image := s.Pod.Annotations[imageAnnotation]; image != "" {
		return image
	}
	return s.Workspace.Spec.Image
}

// interruptedWait is when a save that the agent's end interrupted is tried again, the first time.
const interruptedWait = 2 * time.Second

// failed keeps it up, tells its user, and says when it is tried again.
func (s *Seen) failed(p *Plan, w *api.WorkspaceSnapshot) {
	pause := p.Status.Pause
	wait := reclaim.Backoff(int(pause.Attempts))
	if w.Status.Reason == api.ReasonInterrupted && pause.Attempts == 1 {
		wait = interruptedWait // the agent is back, or it could not say so
	}
	at := metav1.NewTime(s.Now.Add(wait))
	pause.RetryAt, pause.Message = &at, short(w.Status.Message, longestQuote)
	p.After = wait
	message := fmt.Sprintf("its work could not be saved (%s: %s), so it goes on running and holds its set; it is tried again at %s",
		w.Status.Reason, pause.Message, at.UTC().Format("15:04:05 MST"))
	p.warn(api.ReasonSaveFailed, "%s", message)
	p.condition(s, metav1.Condition{Type: api.ConditionSaved, Status: metav1.ConditionFalse, Reason: w.Status.Reason, Message: message})
	p.phase(s, api.PhaseRunning, api.ReasonSaveFailed, message)
}

// take notes what was saved.
func (s *Seen) take(p *Plan, w *api.WorkspaceSnapshot) {
	p.condition(s, metav1.Condition{Type: api.ConditionSaved, Status: metav1.ConditionTrue, Reason: api.ReasonSaved, Message: "WorkspaceSnapshot " + w.Name})
	p.Status.Pause.Message = ""
	if !w.Spec.Commit || p.Status.Saved != nil && p.Status.Saved.Snapshot == w.Name {
		return
	}
	saved := api.SavedState{Snapshot: w.Name, Image: w.Status.Image, BaseImage: w.Spec.BaseImage, Bytes: w.Status.Bytes, At: metav1.NewTime(s.Now)}
	if w.Status.OnNode {
		saved.Node = w.Spec.Node
	}
	p.Status.Saved = &saved
	p.tell(api.ReasonSaved, "its file system is saved as %s, %s", w.Status.Image, size(w.Status.Bytes))
}

func (p *Plan) condition(s *Seen, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = s.Workspace.Generation, metav1.NewTime(s.Now)
	meta.SetStatusCondition(&p.Status.Conditions, c)
}

// size is a number of bytes for people, rounded up.
func size(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1<<10-1)>>10)
	}
	return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20)
}
