// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
)

// entry is what is known of one managed pod.
type entry struct {
	objects.Pod
	version string // resourceVersion
	// gates are all its scheduling gates.
	gates []corev1.PodSchedulingGate
	owned bool // a controller makes it again
	// affinity is its own node affinity.
	affinity *corev1.NodeAffinity
	// unschedulable is true while the scheduler finds no place for it. Since when is not
	// known: the condition says since when the pod is not scheduled, which it is from its
	// creation on.
	unschedulable bool

	// What the leader decided and the cluster has not shown yet.
	assumed *assumption
	// retry is when an opening that the API server refused may be tried again.
	retry time.Time
	// opened is when this leader opened its gate, which its condition says later and in
	// whole seconds; zero where another did.
	opened time.Time
	// evicted is true once it was asked to go, though the cluster may not show it yet.
	evicted bool
	// stays is until when it is not asked to go again, after the API server refused it.
	stays time.Time
	// freed is true once others were asked to go for it.
	freed bool
	// resized says how the sizes of its containers were changed before its gate was
	// opened; empty where they were not, or another leader did.
	resized string
}

// assumption is an opening whose outcome is not known yet.
type assumption struct {
	intent intent
	// unknown is true when the request may or may not have been carried out.
	unknown bool
}

// charged reports whether the pod counts as open.
func (e *entry) charged() bool { return e.assumed != nil || e.Open() }

// waits reports whether the pod may be opened.
func (e *entry) waits() bool { return e.assumed == nil && e.Waits() }

// charge is what the pod counts as in a decision. project is its namespace's, w its
// workload where that is known.
func (e *entry) charge(project string, w *objects.Workload, now time.Time) gate.Charged {
	c := e.Charged(project, w)
	c.Leaving, c.Claim.Stays = c.Leaving || e.evicted, now.Before(e.stays)
	if e.assumed == nil {
		return c
	}
	c.Claim.Since, c.Grade = e.assumed.intent.At, e.assumed.intent.Grade
	if !c.Bound {
		c.Node = e.assumed.intent.Node
	}
	return c
}

// pending is what the pod waits as in a decision. w is its workload where that is known.
func (e *entry) pending(w *objects.Workload) gate.Pending {
	p := e.Pending(w)
	p.Freed = e.freed
	return p
}

// readPod takes from a pod what is kept of it. bounds may be nil.
func readPod(pod *corev1.Pod, bounds *objects.Bounds) *entry {
	e := &entry{
		Pod:     objects.PodOf(pod, bounds),
		version: pod.ResourceVersion,
		gates:   pod.Spec.SchedulingGates,
		owned:   metav1.GetControllerOfNoCopy(pod) != nil,
	}
	if pod.Spec.Affinity != nil {
		e.affinity = pod.Spec.Affinity.NodeAffinity
	}
	c := objects.Condition(pod, corev1.PodScheduled)
	e.unschedulable = c != nil && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	return e
}

// key names the pod for the API server.
func (e *entry) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.Claim.Namespace, Name: e.Claim.Name}
}

// sortByAge puts the eldest first.
func sortByAge(entries []*entry) {
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(a.Made.Compare(b.Made), cmp.Compare(a.Claim.UID, b.Claim.UID))
	})
}
