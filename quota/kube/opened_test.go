// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// A pod that waited for hours and was just opened has run for no time at all, before its
// condition says so and after an eviction that was refused took that back.
func TestSinceWhenAGateIsOpen(t *testing.T) {
	m, made := newModel(), time.Unix(1000, 0)
	at := made.Add(5*time.Hour + time.Millisecond)
	pod := gatedPod("vision", "alice", "p")
	pod.UID, pod.CreationTimestamp = "u", metav1.NewTime(made)
	m.setNamespace("vision", "vision")
	see := func(version string, status corev1.ConditionStatus, reason string) {
		pod := pod.DeepCopy()
		pod.ResourceVersion = version
		pod.Status.Conditions = []corev1.PodCondition{{Type: api.ConditionAllocated, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at.Add(time.Minute))}}
		m.apply(pod)
	}
	requireSince := func(when string) {
		t.Helper()
		charged := m.charges(cluster{}, at).Charged
		if len(charged) != 1 || !charged[0].Claim.Since.Equal(at) {
			t.Errorf("%s: charged %+v, want one since %s", when, charged, at)
		}
	}
	see("1", corev1.ConditionFalse, api.ReasonProjectQuotaReached)
	if _, ok := m.assume(m.pods["u"].Claim, intent{UID: "u", At: at}); !ok {
		t.Fatal("it cannot be opened")
	}
	requireSince("about to be opened")
	pod.Spec.SchedulingGates = nil
	see("2", corev1.ConditionFalse, api.ReasonProjectQuotaReached)
	requireSince("just opened")
	see("3", corev1.ConditionFalse, api.ReasonProjectQuotaReached)
	requireSince("bound by the scheduler")
	see("4", corev1.ConditionTrue, api.ReasonOpened)
	requireSince("said to be open")
	see("5", corev1.ConditionFalse, api.ReasonYieldedBorrowed)
	requireSince("asked to go in vain")
}
