// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// progress says how far one that shall run has come.
func (s *Seen) progress() (phase api.WorkspacePhase, reason, message string) {
	switch {
	case s.Pod == nil:
		return api.PhaseQueued, api.ReasonPending, "its pod is not made yet"
	case s.Pod.DeletionTimestamp != nil:
		return api.PhaseStarting, "Stopping", "its former pod ends first"
	case !bound(s.Pod):
		return s.queued()
	case ready(s.Pod):
		return api.PhaseRunning, "", ""
	}
	return s.starting()
}

// queued repeats why the pod waits, in the words of whoever holds it: the queue, and
// once its gate is open the scheduler.
func (s *Seen) queued() (phase api.WorkspacePhase, reason, message string) {
	if c := conditionOf(s.Pod, api.ConditionAllocated); c.Status == corev1.ConditionFalse {
		return api.PhaseQueued, c.Reason, c.Message
	}
	if c := conditionOf(s.Pod, corev1.PodScheduled); c.Status == corev1.ConditionFalse && c.Reason != corev1.PodReasonSchedulingGated {
		return api.PhaseQueued, c.Reason, c.Message
	}
	return api.PhaseQueued, api.ReasonPending, "it waits for its set"
}

func (s *Seen) starting() (phase api.WorkspacePhase, reason, message string) {
	for _, c := range s.Pod.Status.ContainerStatuses {
		switch w := c.State.Waiting; {
		case w == nil:
		case w.Reason == "CrashLoopBackOff" && c.LastTerminationState.Terminated != nil:
			return api.PhaseFailed, w.Reason, fmt.Sprintf("its container ended with exit code %d, %d times so far; see kubectl aipub workspace logs -n %s %s",
				c.LastTerminationState.Terminated.ExitCode, c.RestartCount, s.Workspace.Namespace, s.Workspace.Name)
		case w.Reason == "InvalidImageName", w.Reason == "CreateContainerConfigError", w.Reason == "ErrImageNeverPull":
			return api.PhaseFailed, w.Reason, w.Message
		case w.Message != "" || w.Reason != "":
			return api.PhaseStarting, w.Reason, w.Message
		}
	}
	return api.PhaseStarting, api.ReasonPending, "its container is not ready yet"
}

// setReady keeps the conditions Ready and RestartNeeded with the phase.
func (p *Plan) setReady(s Seen) {
	c := metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: string(p.Status.Phase), Message: p.Status.Message}
	if p.Status.Phase == api.PhaseRunning {
		c.Status = metav1.ConditionTrue
	}
	p.condition(&s, c)
	restart := metav1.Condition{Type: api.ConditionRestartNeeded, Status: metav1.ConditionFalse, Reason: "UpToDate"}
	if s.outdated() {
		restart.Status, restart.Reason = metav1.ConditionTrue, "SpecChanged"
		restart.Message = "spec was changed while it runs; the change takes effect when it is paused and resumed"
	}
	p.condition(&s, restart)
}

// outdated reports whether the pod was made from an older spec.
func (s *Seen) outdated() bool {
	if s.Runner == nil || s.Pod == nil || s.Pod.DeletionTimestamp != nil {
		return false
	}
	made, latest := s.Pod.Annotations[templateAnnotation], s.Runner.Spec.Template.Annotations[templateAnnotation]
	return made != "" && made != latest
}
