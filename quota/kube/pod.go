// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// entry is what is known of one managed pod.
type entry struct {
	claim   quota.Claim // Since: when it was made, or when its gate was opened
	ask     placement.Ask
	version string // resourceVersion
	// gates are all its scheduling gates; gated is whether ours is among them.
	gates   []corev1.PodSchedulingGate
	gated   bool
	ended   bool // Succeeded or Failed
	leaving bool // being deleted
	owned   bool // a controller makes it again
	// affinity is its own node affinity.
	affinity *corev1.NodeAffinity
	// node was chosen for it, bound is where the scheduler put it.
	node, bound string
	grade       quota.Grade
	made        time.Time
	// unschedulable is since when the scheduler finds no place for it; zero when it
	// does not say so.
	unschedulable time.Time
	allocated     *corev1.PodCondition
	// rank, promoted and rankedBy order a pod that is its own workload.
	rank, promoted, rankedBy string

	// What the leader decided and the cluster has not shown yet.
	assumed *assumption
	// retry is when an opening that the API server refused may be tried again.
	retry time.Time
}

// assumption is an opening whose outcome is not known yet.
type assumption struct {
	intent intent
	// unknown is true when the request may or may not have been carried out.
	unknown bool
}

// charged reports whether the pod counts as open.
func (e *entry) charged() bool { return e.assumed != nil || (!e.gated && !e.ended) }

// waits reports whether the pod may be opened.
func (e *entry) waits() bool { return e.gated && e.assumed == nil && !e.ended && !e.leaving }

// place is where the pod is or will be.
func (e *entry) place() string {
	switch {
	case e.bound != "":
		return e.bound
	case e.assumed != nil:
		return e.assumed.intent.Node
	}
	return e.node
}

// readPod takes from a pod what is kept of it. bounds gives equal PodSpecs one
// address.
func readPod(pod *corev1.Pod, bounds func(*corev1.PodSpec) *corev1.PodSpec) *entry {
	e := &entry{
		version: pod.ResourceVersion,
		gates:   pod.Spec.SchedulingGates,
		ended:   pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		leaving: !pod.DeletionTimestamp.IsZero(),
		owned:   metav1.GetControllerOf(pod) != nil,
		node:    pod.Annotations[api.NodeAnnotation],
		bound:   pod.Spec.NodeName,
		grade:   quota.Grade(pod.Annotations[api.OpenedAnnotation]),
		made:    pod.CreationTimestamp.Time,
	}
	for _, g := range pod.Spec.SchedulingGates {
		e.gated = e.gated || g.Name == api.QuotaGate
	}
	if pod.Spec.Affinity != nil {
		e.affinity = pod.Spec.Affinity.NodeAffinity
	}
	a := pod.Annotations
	e.rank, e.promoted, e.rankedBy = a[api.RankAnnotation], a[api.PromotedAnnotation], a[api.RankedByAnnotation]
	e.readConditions(pod.Status.Conditions)
	e.claim = claimOf(pod)
	if !e.gated {
		e.claim.Since = e.openSince()
	}
	e.ask = placement.Ask{
		UID: e.claim.UID, Namespace: pod.Namespace, Name: pod.Name, Sets: e.claim.Sets,
		Pod: bounds(boundsOf(&pod.Spec)),
	}
	return e
}

func (e *entry) readConditions(conditions []corev1.PodCondition) {
	for i := range conditions {
		c := &conditions[i]
		switch {
		case c.Type == api.ConditionAllocated:
			e.allocated = c
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable:
			e.unschedulable = c.LastTransitionTime.Time
		}
	}
}

// openSince is the best that a pod says about when its gate was opened.
func (e *entry) openSince() time.Time {
	if e.allocated != nil && e.allocated.Status == corev1.ConditionTrue {
		return e.allocated.LastTransitionTime.Time
	}
	return e.made
}

func claimOf(pod *corev1.Pod) quota.Claim {
	a := pod.Annotations
	c := quota.Claim{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Workload: workloadOf(pod),
		Party:    quota.Party{Project: a[api.ProjectAnnotation], User: a[api.UserAnnotation], Type: api.WorkloadType(a[api.TypeAnnotation])},
		Sets:     setsOf(&pod.Spec),
		Since:    pod.CreationTimestamp.Time,
	}
	if c.Party.User == "" {
		c.Party.User = api.ProjectUserPrefix + c.Party.Project
	}
	if c.Party.Type == "" {
		c.Party.Type = api.TypeJob
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		c.Generation = string(owner.UID)
	}
	return c
}

// workloadOf reads GROUP/KIND/NAME/UID; a pod without it is its own workload.
func workloadOf(pod *corev1.Pod) quota.Workload {
	if parts := strings.Split(pod.Annotations[api.WorkloadAnnotation], "/"); len(parts) == 4 {
		return quota.Workload{Group: parts[0], Kind: parts[1], Namespace: pod.Namespace, Name: parts[2], UID: parts[3]}
	}
	return quota.Workload{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// setsOf is what a pod holds of each set while it runs: what its containers and
// sidecars ask for together, or an init container with the sidecars before it, if
// that is more. The kubelet hands the devices of init containers on.
func setsOf(spec *corev1.PodSpec) map[string]int64 {
	sets, peak := map[string]int64{}, map[string]int64{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		for set, n := range asks(c) {
			peak[set] = max(peak[set], sets[set]+n)
			if sidecar {
				sets[set] += n
			}
		}
	}
	for i := range spec.Containers {
		for set, n := range asks(&spec.Containers[i]) {
			sets[set] += n
		}
	}
	for set, n := range peak {
		sets[set] = max(sets[set], n)
	}
	return sets
}

// asks are the sets of one container, those above zero.
func asks(c *corev1.Container) map[string]int64 {
	var out map[string]int64
	for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		for name, q := range list {
			if set, ok := strings.CutPrefix(string(name), api.ResourcePrefix); ok && q.Value() > 0 {
				if out == nil {
					out = map[string]int64{}
				}
				out[set] = q.Value()
			}
		}
	}
	return out
}

// boundsOf is what of a pod decides on which nodes it may be.
func boundsOf(spec *corev1.PodSpec) *corev1.PodSpec {
	out := &corev1.PodSpec{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		out.Affinity = &corev1.Affinity{NodeAffinity: spec.Affinity.NodeAffinity}
	}
	return out
}

// key names the pod for the API server.
func (e *entry) key() types.NamespacedName {
	return types.NamespacedName{Namespace: e.claim.Namespace, Name: e.claim.Name}
}

// sortByAge puts the eldest first.
func sortByAge(entries []*entry) {
	slices.SortFunc(entries, func(a, b *entry) int {
		return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.claim.UID, b.claim.UID))
	})
}
