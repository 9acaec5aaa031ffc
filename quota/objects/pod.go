// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/placement"
)

// Unmanaged is the grade written on pods that were opened without a charge, because
// their namespace was not managed then. Where it is again, they are charged.
const Unmanaged quota.Grade = api.ReasonUnmanaged

// Pod is what a managed pod says of itself.
type Pod struct {
	Claim quota.Claim // see [ClaimOf]
	Ask   placement.Ask
	// Gated is true while our gate is closed, Ended once it succeeded or failed,
	// Leaving while it is being deleted.
	Gated, Ended, Leaving bool
	// OtherGates names the scheduling gates that are not ours, in order.
	OtherGates string
	// Node was chosen for it, Bound is where the scheduler put it; empty: neither yet.
	Node, Bound string
	// Grade as it was written when its gate was opened; empty where nobody wrote one.
	Grade quota.Grade
	Made  time.Time
	// Allocated is what the controller said of it last; nil: nothing yet.
	Allocated *corev1.PodCondition
	// Fills are what its containers were given for their sets, while its gate is closed.
	Fills []Fill
	// Rank and Promoted order a pod that is its own workload.
	Rank, Promoted string
}

// PodOf reads a pod. bounds gives equal ones one address; nil leaves each its own.
func PodOf(pod *corev1.Pod, bounds *Bounds) Pod {
	a := pod.Annotations
	claim := ClaimOf(pod)
	if claim.Workload.UID == claim.UID {
		claim.DueBack = annotatedDue(a)
	}
	var fills []Fill
	if Gated(pod) {
		fills = Fills(pod)
	}
	return Pod{
		Fills: fills,
		Claim: claim,
		Ask:   placement.Ask{UID: claim.UID, Namespace: pod.Namespace, Name: pod.Name, Sets: claim.Sets, Pod: bounds.of(&pod.Spec)},
		Gated: Gated(pod), OtherGates: OtherGates(pod),
		Ended:   Ended(pod),
		Leaving: !pod.DeletionTimestamp.IsZero(),
		Node:    a[api.NodeAnnotation],
		Bound:   pod.Spec.NodeName,
		Grade:   quota.Grade(a[api.OpenedAnnotation]),
		Made:    pod.CreationTimestamp.Time, Allocated: Condition(pod, api.ConditionAllocated),
		Rank: a[api.RankAnnotation], Promoted: a[api.PromotedAnnotation],
	}
}

// Gated reports whether our gate on a pod is closed.
func Gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == api.QuotaGate })
}

// OtherGates names the closed scheduling gates of a pod that are not ours.
func OtherGates(pod *corev1.Pod) string {
	var names []string
	for _, g := range pod.Spec.SchedulingGates {
		if g.Name != api.QuotaGate {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, ", ")
}

// Ended reports whether a pod holds nothing any more.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Waits reports whether a pod stands in the queue.
func Waits(pod *corev1.Pod) bool {
	return Gated(pod) && !Ended(pod) && pod.DeletionTimestamp.IsZero()
}

// Condition of a pod; nil where it has none of that type.
func Condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// Open reports whether the pod counts as open.
func (p *Pod) Open() bool { return !p.Gated && !p.Ended }

// Waits reports whether the pod stands in the queue.
func (p *Pod) Waits() bool { return p.Gated && !p.Ended && !p.Leaving }

// Managed reports whether the pod is in a managed namespace, and so is charged while
// it is open. project is the namespace's.
func (p *Pod) Managed(project string) bool { return Managed(p.Claim.Namespace, project) }

// Charged is the pod as one whose gate is open. project is its namespace's, empty for
// none; w is its workload, nil where that is the pod itself or is not known.
func (p *Pod) Charged(project string, w *Workload) gate.Charged {
	out := gate.Charged{
		Claim: p.Claim, Ask: p.Ask, Leaving: p.Leaving, Unmanaged: !p.Managed(project),
		Grade: cmp.Or(p.Grade, quota.Within), // without one, somebody else opened it
		Node:  cmp.Or(p.Bound, p.Node), Bound: p.Bound != "",
	}
	if w != nil {
		out.Claim.DueBack = w.DueBack
	}
	return out
}

// Pending is the pod as one whose gate is closed. w is its workload; nil where that
// is the pod itself or is not known.
func (p *Pod) Pending(w *Workload) gate.Pending {
	out := gate.Pending{Claim: p.Claim, Ask: p.Ask, Created: p.Made, OtherGates: p.OtherGates}
	switch {
	case w != nil:
		out.Rank, out.Promoted, out.Created, out.Gang = w.Rank, w.Promoted, w.Created, w.Gang
	case p.Claim.Workload.Kind == "Pod":
		out.Rank, out.Promoted = p.Rank, p.Promoted
	}
	return out
}
