// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// open explains a pod whose gate is open.
func (s *scene) open(d *whyDoc) {
	c := allocated(s.pod)
	opened := s.pod.Annotations[api.OpenedAnnotation]
	since, reason := metav1.NewTime(objects.OpenSince(s.pod)), api.ReasonOpened
	if c != nil {
		reason, since = c.Reason, c.LastTransitionTime
	}
	if askedToGo(c) {
		d.add(stageQuota, saysWaits, reason, &since, "it was asked to go: %s", c.Message)
		d.Summary = "it has to give back: " + reason
	} else {
		d.add(stageQuota, saysYes, cmp.Or(opened, reason), &since, "%s", gradeWords(opened))
	}
	if c != nil && c.Status == corev1.ConditionTrue && c.Reason == api.ReasonSetChanged {
		d.Notes = append(d.Notes, c.Message)
	}
	d.add(stageQueue, saysYes, "", nil, "its turn has come")
	if node := s.pod.Annotations[api.NodeAnnotation]; node != "" {
		d.add(stagePlacement, saysYes, "", nil, "node %s was chosen for it", node)
	} else {
		d.add(stagePlacement, saysNone, "", nil, "no node was chosen for it; the scheduler finds one")
	}
	s.scheduled(d)
}

// askedToGo reports whether the controller wrote that an open pod has to go.
func askedToGo(c *corev1.PodCondition) bool {
	if c == nil || c.Status != corev1.ConditionFalse {
		return false
	}
	switch c.Reason {
	case api.ReasonYieldedBorrowed, api.ReasonYieldedHeadroom, api.ReasonNodeLost, api.ReasonSetChanged:
		return true
	}
	return false
}

// unmanaged explains a pod that quota and queue do not concern.
func (s *scene) unmanaged(d *whyDoc) {
	why := "it asks for no set: resources.limits has no " + api.ResourcePrefix + "…"
	if len(d.Sets) > 0 {
		why = fmt.Sprintf("namespace %s was in no project when the pod was made (label %s), so no quota and no queue concern it", s.pod.Namespace, api.ProjectLabel)
	}
	for _, step := range []string{stageQuota, stageQueue, stagePlacement} {
		d.add(step, saysNone, "", nil, "%s", why)
		why = "likewise"
	}
	s.scheduled(d)
	d.Notes = append(d.Notes, "AIPub does not manage this pod")
}

// scheduled explains what the scheduler and the node say.
func (s *scene) scheduled(d *whyDoc) {
	c := objects.Condition(s.pod, corev1.PodScheduled)
	gates := objects.OtherGates(s.pod)
	switch {
	case s.pod.Spec.NodeName != "":
		var since *metav1.Time
		if c != nil {
			since = &c.LastTransitionTime
		}
		d.add(stageScheduler, saysYes, "Scheduled", since, "it is on node %s", s.pod.Spec.NodeName)
		s.onNode(d)
		return
	case gates != "":
		d.add(stageScheduler, saysWaits, corev1.PodReasonSchedulingGated, nil, "gates of others are closed: %s; who put them on opens them", gates)
		d.Summary = cmp.Or(d.Summary, "AIPub's gate is open; it waits for gates of others")
	case c != nil && c.Status == corev1.ConditionFalse:
		// The condition is as old as the pod: a closed gate makes it so.
		since := c.LastTransitionTime
		if open := metav1.NewTime(objects.OpenSince(s.pod)); since.Before(&open) {
			since = open
		}
		d.add(stageScheduler, saysWaits, c.Reason, &since, "%s", orElse(c.Message, "the scheduler does not say why"))
		d.Summary = cmp.Or(d.Summary, "its gate is open, and the scheduler finds no place for it")
	default:
		d.add(stageScheduler, saysWaits, "", nil, "the scheduler has not looked at it yet")
		d.Summary = cmp.Or(d.Summary, "its gate is open; it waits for the scheduler")
	}
	d.add(stageNode, saysLater, "", nil, "no node has it yet")
}

// onNode explains what the node has made of a pod.
func (s *scene) onNode(d *whyDoc) {
	held := s.heldWords(d.Sets)
	if reason, message, started := containerTrouble(s.pod); !started {
		d.add(stageNode, saysWaits, reason, nil, "%s", joinWords(message, held))
		d.Summary = cmp.Or(d.Summary, fmt.Sprintf("it is on node %s and its containers have not started", s.pod.Spec.NodeName))
		return
	} else if reason != "" {
		d.add(stageNode, saysWaits, reason, nil, "%s", joinWords(message, held))
		d.Summary = cmp.Or(d.Summary, fmt.Sprintf("it is on node %s, and not all of its containers run", s.pod.Spec.NodeName))
		return
	}
	var since *metav1.Time
	if c := objects.Condition(s.pod, corev1.PodReady); c != nil {
		since = &c.LastTransitionTime
	}
	d.add(stageNode, saysYes, string(s.pod.Status.Phase), since, "%s", joinWords("its containers run", held))
	d.Summary = cmp.Or(d.Summary, "it runs on node "+s.pod.Spec.NodeName)
}

// heldWords are the slices that the node's agent says the pod holds.
func (s *scene) heldWords(sets map[string]int64) string {
	if len(sets) == 0 || s.node == nil {
		return ""
	}
	var held, sick []string
	for _, slice := range s.node.Status.Slices {
		h := slice.Holder
		if h == nil || h.Namespace != s.pod.Namespace || h.Pod != s.pod.Name {
			continue
		}
		held = append(held, fmt.Sprintf("%s (%s)", slice.ID, sliceWords(slice)))
		if slice.Reason != "" {
			sick = append(sick, fmt.Sprintf("%s: %s: %s", slice.ID, slice.Reason, slice.Message))
		}
	}
	if len(held) == 0 {
		return "the node's agent has not said which slices it holds"
	}
	return joinWords("it holds "+strings.Join(held, ", "), strings.Join(sick, "; "))
}

func joinWords(words ...string) string {
	var kept []string
	for _, w := range words {
		if w != "" {
			kept = append(kept, w)
		}
	}
	return strings.Join(kept, "; ")
}

// containerTrouble is what keeps containers from running: a reason, a sentence, and
// whether the pod has started at all. Without trouble the reason is empty.
func containerTrouble(pod *corev1.Pod) (reason, message string, started bool) {
	started = pod.Status.Phase == corev1.PodRunning
	all := append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
	for _, c := range all {
		switch w, t := c.State.Waiting, c.State.Terminated; {
		case w != nil && w.Reason != "" && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating":
			return w.Reason, joinWords(fmt.Sprintf("container %s: %s", c.Name, orElse(w.Message, w.Reason)), lastEnd(c)), started
		case t != nil && t.ExitCode != 0 && started:
			return cmp.Or(t.Reason, "Error"), fmt.Sprintf("container %s has ended with status %d", c.Name, t.ExitCode), started
		}
	}
	if !started {
		return "ContainerCreating", "the kubelet is making its containers", false
	}
	return "", "", true
}

func lastEnd(c corev1.ContainerStatus) string {
	if t := c.LastTerminationState.Terminated; t != nil {
		return fmt.Sprintf("it last ended with status %d (%s), and was started again %d times", t.ExitCode, orElse(t.Reason, "Error"), c.RestartCount)
	}
	return ""
}

// ended explains a pod that is over.
func (s *scene) ended(d *whyDoc) {
	what := "ended well"
	if s.pod.Status.Phase == corev1.PodFailed {
		what = "failed"
	}
	d.Summary = "it has " + what + "; what it held is free"
	if s.managed() {
		d.add(stageQuota, saysEnded, "", nil, "nothing is charged for it any more")
		d.add(stageQueue, saysEnded, "", nil, "it stands in no queue any more")
	} else {
		d.add(stageQuota, saysNone, "", nil, "no quota concerned it")
		d.add(stageQueue, saysNone, "", nil, "likewise")
	}
	d.add(stagePlacement, saysEnded, "", nil, "%s", orElse(onWhich("node %s was chosen for it", s.pod.Annotations[api.NodeAnnotation]), "no node was chosen for it"))
	d.add(stageScheduler, saysEnded, "", nil, "%s", orElse(onWhich("it was on node %s", s.pod.Spec.NodeName), "it was never on a node"))
	reason, message, since := s.end()
	d.add(stageNode, saysEnded, reason, since, "%s", message)
}

func onWhich(format, node string) string {
	if node == "" {
		return ""
	}
	return fmt.Sprintf(format, node)
}

// end is why and when a pod ended: why it was asked to, what the pod says, or what
// its containers say.
func (s *scene) end() (reason, message string, since *metav1.Time) {
	if c := allocated(s.pod); askedToGo(c) {
		return c.Reason, c.Message, &c.LastTransitionTime
	}
	if c := objects.Condition(s.pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c.Reason, orElse(c.Message, "it was asked to go"), &c.LastTransitionTime
	}
	for _, c := range s.pod.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil && (t.ExitCode != 0 || s.pod.Status.Phase == corev1.PodSucceeded) {
			message = fmt.Sprintf("container %s ended with status %d", c.Name, t.ExitCode)
			return cmp.Or(s.pod.Status.Reason, t.Reason, string(s.pod.Status.Phase)), joinWords(message, cmp.Or(s.pod.Status.Message, t.Message)), &t.FinishedAt
		}
	}
	return cmp.Or(s.pod.Status.Reason, string(s.pod.Status.Phase)), orElse(s.pod.Status.Message, "it says no more"), nil
}
