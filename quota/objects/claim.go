// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// ClaimOf is what a pod asks for and who is charged. Since is when it was made or,
// once its gate is open, the best that it says about when that was.
func ClaimOf(pod *corev1.Pod) quota.Claim {
	c := quota.Claim{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name,
		Workload: Owner(pod), Party: partyOf(pod), Sets: Sets(&pod.Spec), Since: pod.CreationTimestamp.Time,
	}
	c.Party.User = cmp.Or(c.Party.User, api.ProjectUserPrefix+c.Party.Project)
	c.Party.Type = cmp.Or(c.Party.Type, api.TypeJob)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		c.Generation = string(owner.UID)
	}
	if !Gated(pod) {
		c.Since = OpenSince(pod)
	}
	return c
}

// partyOf is who an object's stamps say is charged.
func partyOf(o metav1.Object) quota.Party {
	a := o.GetAnnotations()
	return quota.Party{Project: a[api.ProjectAnnotation], User: a[api.UserAnnotation], Type: api.WorkloadType(a[api.TypeAnnotation])}
}

// OpenSince is the best that an open pod says about when its gate was opened.
func OpenSince(pod *corev1.Pod) time.Time {
	if c := Condition(pod, api.ConditionAllocated); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// Owner is the workload that a pod belongs to, as its annotation GROUP/KIND/NAME/UID
// says; a pod without one is its own workload.
func Owner(pod *corev1.Pod) quota.Workload {
	if p := strings.Split(pod.Annotations[api.WorkloadAnnotation], "/"); len(p) == 4 {
		return quota.Workload{Group: p[0], Kind: p[1], Namespace: pod.Namespace, Name: p[2], UID: p[3]}
	}
	return quota.Workload{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// Sets are what a pod holds of each set while it runs: what its containers and
// sidecars ask for together, or an init container with the sidecars before it, if
// that is more. The kubelet hands the devices of init containers on.
func Sets(spec *corev1.PodSpec) map[string]int64 {
	sets, peak := map[string]int64{}, map[string]int64{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		for set, n := range ContainerSets(c) {
			peak[set] = max(peak[set], sets[set]+n)
			if sidecar {
				sets[set] += n
			}
		}
	}
	for i := range spec.Containers {
		for set, n := range ContainerSets(&spec.Containers[i]) {
			sets[set] += n
		}
	}
	for set, n := range peak {
		sets[set] = max(sets[set], n)
	}
	return sets
}

// ContainerSets are the sets that one container asks for, those above zero; nil for
// none.
func ContainerSets(c *corev1.Container) map[string]int64 {
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
