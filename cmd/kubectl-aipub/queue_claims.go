// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// What becomes of a managed pod, as the loop that opens gates reads it.

// isGated reports whether a pod waits for its gate to be opened.
func isGated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == api.QuotaGate })
}

// hasEnded reports whether a pod holds nothing any more.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// waits reports whether a pod stands in the queue.
func waits(pod *corev1.Pod) bool {
	return isGated(pod) && !hasEnded(pod) && pod.DeletionTimestamp == nil
}

// claimOf is what a pod asks for, and who is charged.
func claimOf(pod *corev1.Pod) quota.Claim {
	a := pod.Annotations
	project := a[api.ProjectAnnotation]
	c := quota.Claim{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name, Workload: workloadOf(pod),
		Party: quota.Party{
			Project: project,
			User:    cmp.Or(a[api.UserAnnotation], api.ProjectUserPrefix+project),
			Type:    cmp.Or(api.WorkloadType(a[api.TypeAnnotation]), api.TypeJob),
		},
		Sets: setsOf(&pod.Spec), Since: pod.CreationTimestamp.Time,
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		c.Generation = string(owner.UID)
	}
	if !isGated(pod) {
		c.Since = openSince(pod)
	}
	return c
}

// openSince is the best that a pod says about when its gate was opened.
func openSince(pod *corev1.Pod) time.Time {
	if c := allocated(pod); c != nil && c.Status == corev1.ConditionTrue {
		return c.LastTransitionTime.Time
	}
	return pod.CreationTimestamp.Time
}

// allocated is what the controller has written on a pod; nil: nothing yet.
func allocated(pod *corev1.Pod) *corev1.PodCondition {
	return podCondition(pod, api.ConditionAllocated)
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// workloadOf reads the annotation GROUP/KIND/NAME/UID; a pod without it is a
// workload of its own.
func workloadOf(pod *corev1.Pod) quota.Workload {
	if p := strings.Split(pod.Annotations[api.WorkloadAnnotation], "/"); len(p) == 4 {
		return quota.Workload{Group: p[0], Kind: p[1], Namespace: pod.Namespace, Name: p[2], UID: p[3]}
	}
	return quota.Workload{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// setsOf is what a pod holds of each set: its containers and sidecars together, or
// an init container with the sidecars before it where that is more.
func setsOf(spec *corev1.PodSpec) map[string]int64 {
	steady, peak := map[string]int64{}, map[string]int64{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		for set, n := range setsOfContainer(c) {
			peak[set] = max(peak[set], steady[set]+n)
			if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				steady[set] += n
			}
		}
	}
	for i := range spec.Containers {
		for set, n := range setsOfContainer(&spec.Containers[i]) {
			steady[set] += n
		}
	}
	for set, n := range peak {
		steady[set] = max(steady[set], n)
	}
	return steady
}

func setsOfContainer(c *corev1.Container) map[string]int64 {
	out := map[string]int64{}
	for _, list := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
		for name, q := range list {
			if set, ok := strings.CutPrefix(string(name), api.ResourcePrefix); ok && q.Value() > 0 {
				out[set] = q.Value()
			}
		}
	}
	return out
}
