// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/objects"
	"aipub.io/aipub/quota/queue"
)

// scene is what is known of one pod. Explaining it reads nothing more.
type scene struct {
	pod    *corev1.Pod
	now    time.Time
	queues *queues            // nil when it does not wait, or they cannot be read
	node   *api.NodePartition // of the node that it is on; nil when not known
}

// The steps that a pod takes.
const (
	stageQuota     = "quota"
	stageQueue     = "queue"
	stagePlacement = "placement"
	stageScheduler = "scheduler"
	stageNode      = "node"
)

// What a step says.
const (
	saysYes   = "Yes"   // passed
	saysWaits = "Waits" // the pod waits here
	saysLater = "Later" // comes after a step at which it waits
	saysEnded = "Ended" // the pod is done with it
	saysNone  = "None"  // does not concern the pod
)

// whyDoc is the chain of reasons of a pod. Its JSON form is for scripts.
type whyDoc struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Pod is NAMESPACE/NAME, Workload NAMESPACE/KIND/NAME.
	Pod      string           `json:"pod"`
	Workload string           `json:"workload,omitempty"`
	Project  string           `json:"project,omitempty"`
	User     string           `json:"user,omitempty"`
	Type     api.WorkloadType `json:"type,omitempty"`
	Sets     map[string]int64 `json:"sets,omitempty"`
	// Summary is one sentence.
	Summary string      `json:"summary"`
	Steps   []whyStep   `json:"steps"`
	Notes   []string    `json:"notes,omitempty"`
	Created metav1.Time `json:"created"`
}

// whyStep is one step of the chain.
type whyStep struct {
	// Step is quota, queue, placement, scheduler or node.
	Step string `json:"step"`
	// Says is Yes, Waits, Later, Ended or None.
	Says string `json:"says"`
	// Reason is a typed word, as in conditions.
	Reason  string       `json:"reason,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	Message string       `json:"message"`
}

// explain makes the chain of a pod.
func (s *scene) explain() *whyDoc {
	c := objects.ClaimOf(s.pod)
	d := &whyDoc{
		APIVersion: planVersion, Kind: "Why", Pod: s.pod.Namespace + "/" + s.pod.Name, Sets: c.Sets, Created: s.pod.CreationTimestamp,
	}
	if s.managed() {
		d.Workload, d.Project, d.User, d.Type = refOf(c.Workload), c.Party.Project, c.Party.User, c.Party.Type
	}
	switch {
	case objects.Ended(s.pod):
		s.ended(d)
	case objects.Waits(s.pod):
		s.waiting(d)
	case !s.managed():
		s.unmanaged(d)
	default:
		s.open(d)
	}
	if s.pod.DeletionTimestamp != nil && !objects.Ended(s.pod) {
		d.Notes = append(d.Notes, "it is being deleted; what it holds counts until it is gone")
	}
	return d
}

// managed reports whether quota and queue concern the pod.
func (s *scene) managed() bool {
	return s.pod.Labels[api.SetLabel] != "" && s.pod.Annotations[api.ProjectAnnotation] != ""
}

func (d *whyDoc) add(step, says, reason string, since *metav1.Time, format string, args ...any) {
	if since != nil && since.IsZero() {
		since = nil
	}
	d.Steps = append(d.Steps, whyStep{Step: step, Says: says, Reason: reason, Since: since, Message: fmt.Sprintf(format, args...)})
}

// stages are the step that each reason of a closed gate belongs to.
var stages = map[string]string{
	api.ReasonProjectQuotaReached: stageQuota,
	api.ReasonUserQuotaReached:    stageQuota,
	api.ReasonBehindHead:          stageQueue,
	api.ReasonGangIncomplete:      stageQueue,
	api.ReasonOtherGates:          stageQueue,
	api.ReasonNoRoomOnNodes:       stagePlacement,
	api.ReasonKeptForEarlier:      stagePlacement,
	api.ReasonNoNodeHasSet:        stagePlacement,
	api.ReasonUnknownSet:          stagePlacement,
	api.ReasonSetChanged:          stagePlacement,
}

// waiting explains a pod whose gate is closed.
func (s *scene) waiting(d *whyDoc) {
	reason, message, since := s.reason()
	stage := cmp.Or(stages[reason], stageQueue)
	switch reason {
	case reasonOpensNow:
		stage = ""
		d.Summary = "its gate is about to be opened"
		d.Notes = append(d.Notes, "if it stays so, the controller may be down: kubectl -n aipub-system get pods")
	case reasonNotSaid:
		d.Summary = "it waits, and the controller has not said why"
		d.Notes = append(d.Notes, "the controller says why within seconds, to the first 200 pods of each queue; if it does not, it may be down: kubectl -n aipub-system get pods")
	default:
		d.Summary = fmt.Sprintf("it waits at the step %s: %s", stage, reason)
	}
	s.resizes(d, reason)
	passed := true // the steps before the one at which it waits
	for _, step := range []string{stageQuota, stageQueue, stagePlacement} {
		if step == stage {
			passed = false
			d.add(step, saysWaits, reason, since, "%s", s.withPlace(step, message))
			continue
		}
		says, words := s.beside(step, stage, passed)
		d.add(step, says, "", nil, "%s", s.withPlace(step, words))
	}
	d.add(stageScheduler, saysLater, "", nil, "the scheduler leaves it alone until its gate is open")
	d.add(stageNode, saysLater, "", nil, "no node has it yet")
	if c := allocated(s.pod); c != nil && c.Status != corev1.ConditionTrue && c.Reason != reason {
		d.Notes = append(d.Notes, fmt.Sprintf("the controller last wrote %s on it, %s ago; above is what holds now", c.Reason, age(c.LastTransitionTime, s.now)))
	}
}

// resizes says that the pod will not have the size that it shows.
func (s *scene) resizes(d *whyDoc, reason string) {
	if s.queues == nil || reason == api.ReasonSetChanged {
		return
	}
	if refills := objects.Refills(objects.Fills(s.pod), s.queues.sets); len(refills) > 0 {
		d.Notes = append(d.Notes, objects.RefillWords(refills)+"; it is given that before its gate is opened")
	}
}

// reason is why the pod waits now, and since when if that was written. What stops the
// controller from opening a gate is known to the controller alone.
func (s *scene) reason() (reason, message string, since *metav1.Time) {
	q := s.queues
	if q == nil {
		q = &queues{}
	}
	reason, message = q.why(s.pod)
	c := allocated(s.pod)
	if reason == reasonOpensNow && c != nil && c.Reason == api.ReasonSetChanged {
		reason, message = c.Reason, c.Message
	}
	if c != nil && c.Reason == reason {
		since = &c.LastTransitionTime
	}
	return reason, message, since
}

// beside is what a step says at which the pod does not wait.
func (s *scene) beside(step, stage string, passed bool) (says, words string) {
	switch {
	case step == stageQuota && stage == stageQueue:
		return saysLater, "it is asked when its turn comes"
	case step == stageQuota:
		return saysYes, "there is room in every quota that binds it"
	case step == stageQueue && passed:
		return saysYes, "its turn has come"
	case step == stageQueue:
		return saysLater, "its turn does not help it while the quota has no room"
	case passed:
		return saysYes, s.seat()
	}
	return saysLater, "a node is chosen when the steps before it are passed"
}

// seat is where the decision would put it now.
func (s *scene) seat() string {
	if s.queues != nil {
		if o, ok := s.queues.opens[string(s.pod.UID)]; ok && o.Seat.Node != "" {
			return "node " + o.Seat.Node + " has room for it"
		}
	}
	return "a node has room for it"
}

// withPlace adds to what the queue says where the workload stands.
func (s *scene) withPlace(step, words string) string {
	if step != stageQueue || s.queues == nil {
		return words
	}
	c := objects.ClaimOf(s.pod)
	order := s.queues.ofProject(c.Party.Project)
	place := 0
	for i, it := range order {
		if it.Workload == c.Workload {
			place = i + 1
		}
	}
	return fmt.Sprintf("%s; %s is at place %d of %d in project %s%s", words, refOf(c.Workload), place, len(order), c.Party.Project, promotedWords(order, place))
}

func promotedWords(order []queue.Item, place int) string {
	if place > 0 && order[place-1].Promoted != "" {
		return ", promoted before all projects"
	}
	return ""
}

// gradeWords say how an open pod is charged.
func gradeWords(opened string) string {
	switch quota.Grade(opened) {
	case quota.Borrowed:
		return "it borrows from what its project leaves unused, beyond its user's own quota; it yields when the quota is needed"
	case quota.Headroom:
		return "it is a replica beyond the guaranteed minimum; it yields when the quota is needed"
	case quota.Surge:
		return "it stands above a limit while it replaces an older pod of its workload"
	case quota.Within:
		return "it is charged within all limits"
	case api.ReasonUnmanaged:
		return "its namespace was not managed any more when its gate was opened; it is charged once the namespace is managed again"
	}
	return "it is charged; somebody else than the controller opened its gate"
}
