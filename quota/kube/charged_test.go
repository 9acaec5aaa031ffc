// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestWhichSetsAreCharged(t *testing.T) {
	w := &Watch{model: newModel()}
	add := func(name string, open bool, phase corev1.PodPhase) {
		pod := gatedPod("vision", "alice", name)
		pod.UID, pod.ResourceVersion, pod.Status.Phase = types.UID(name), "1", phase
		if open {
			pod.Spec.SchedulingGates = nil
		}
		w.model.apply(pod)
	}
	add("runs", true, corev1.PodRunning)
	add("is on its way", true, corev1.PodPending)
	add("ended", true, corev1.PodSucceeded)
	add("waits", false, corev1.PodPending)
	add("is about to be opened", false, corev1.PodPending)
	w.model.assume(w.model.pods["is about to be opened"].Claim, intent{UID: "is about to be opened"})
	got, known := w.Charged()
	if want := (map[string]int64{"small": 3}); !known || !maps.Equal(got, want) {
		t.Errorf("charged %v (known: %t), want %v", got, known, want)
	}
	w.synced = []toolscache.InformerSynced{func() bool { return false }}
	if _, known := w.Charged(); known {
		t.Error("what is charged is known before all pods are")
	}
}
