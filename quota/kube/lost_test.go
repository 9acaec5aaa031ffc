// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// The API server says of a pod from its creation on that it is not scheduled, and the
// scheduler leaves that time as it is. A pod that waited for hours behind its gate is not
// lost the first time that the scheduler finds no place.
func TestWhenAPodIsLost(t *testing.T) {
	made := time.Unix(1000, 0)
	opened := made.Add(5 * time.Hour)
	nodes := cluster{usable: map[string]bool{"n1": true, "cordoned": false}}
	said := corev1.PodCondition{Type: api.ConditionAllocated, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(opened)}
	waited := corev1.PodCondition{Type: api.ConditionAllocated, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(made)}
	for name, tc := range map[string]struct {
		node, reason string
		allocated    corev1.PodCondition
		after        time.Duration
		want         string
	}{
		"just opened":                          {"n1", corev1.PodReasonUnschedulable, said, time.Second, ""},
		"no place for too long":                {"n1", corev1.PodReasonUnschedulable, said, 3 * time.Minute, "the scheduler has found no place on node n1 for 2m0s"},
		"the scheduler has not looked at it":   {"n1", corev1.PodReasonSchedulingGated, said, 3 * time.Minute, ""},
		"since when it is open is not known":   {"n1", corev1.PodReasonUnschedulable, waited, 3 * time.Minute, ""},
		"a node that takes none, just opened":  {"cordoned", "", said, time.Second, "node cordoned takes no pods now (not ready, or cordoned)"},
		"a node that is gone, and just opened": {"gone", "", waited, time.Second, "node gone is gone"},
	} {
		pod := ownedBy(gatedPod("vision", "alice", "p"), "Job", "train", "u-train")
		pod.CreationTimestamp, pod.Spec.SchedulingGates = metav1.NewTime(made), nil
		pod.Annotations[api.NodeAnnotation] = tc.node
		pod.Status.Conditions = []corev1.PodCondition{tc.allocated,
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: tc.reason, LastTransitionTime: metav1.NewTime(made)}}
		if got := readPod(pod, nil).lost(nodes, opened.Add(tc.after)); got != tc.want {
			t.Errorf("%s: lost for %q, want %q", name, got, tc.want)
		}
	}
}
