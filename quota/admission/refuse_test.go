// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/api/v1alpha1"
)

func TestExpandRefuses(t *testing.T) {
	withInit := func(init corev1.Container, app corev1.Container) *corev1.Pod {
		pod := podOf(app)
		pod.Spec.InitContainers = []corev1.Container{init}
		return pod
	}
	ephemeral := podOf(container("app", "set-small=1", ""))
	ephemeral.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
		Name: "debug", Resources: corev1.ResourceRequirements{Limits: list("set-small=1")}}}}
	podLevel := podOf(container("app", "", ""))
	podLevel.Spec.Resources = &corev1.ResourceRequirements{Limits: list("set-small=1")}

	cases := map[string]struct {
		pod      *corev1.Pod
		reason   Reason
		sentence []string
	}{
		"two sets": {podOf(container("app", "set-small=1 set-medium=1", "")), ReasonTwoSets,
			[]string{"spec.containers[0].resources.limits", "aipub.io/set-medium, aipub.io/set-small", "keep one"}},
		"a part of a set": {podOf(container("app", "set-small=500m", "")), ReasonBadCount,
			[]string{"spec.containers[0].resources.limits[aipub.io/set-small]", `"500m"`, "whole number from 1"}},
		"one and a half sets": {podOf(container("app", "set-small=1.5", "")), ReasonBadCount, []string{`"1500m"`}},
		"no set":              {podOf(container("app", "set-small=0", "")), ReasonBadCount, []string{`"0"`}},
		"less than none":      {podOf(container("app", "set-small=-1", "")), ReasonBadCount, []string{`"-1"`}},
		"absurdly many":       {podOf(container("app", "set-small=9223372036854775807", "")), ReasonBadCount, []string{"1000"}},
		"request and limit differ": {podOf(container("app", "set-small=2", "set-small=1")), ReasonCountsDiffer,
			[]string{`"2"`, "request 1", "requests.aipub.io/set-small"}},
		"a bad request alone is shown where it stands": {podOf(container("app", "", "set-small=500m")), ReasonBadCount,
			[]string{"spec.containers[0].resources.requests[aipub.io/set-small]"}},
		"unknown set, closest first": {podOf(container("app", "set-smal=1", "")), ReasonUnknownSet,
			[]string{"spec.containers[0].resources.limits[aipub.io/set-smal]", "no set has the name smal", "closest first: small"}},
		"our domain without set-": {podOf(container("app", "aipub.io/small=1", "")), ReasonUnknownSet,
			[]string{"aipub.io/set-NAME", "closest first: small"}},
		"a retired set": {podOf(container("app", "set-old=1", "")), ReasonRetiredSet,
			[]string{"no PartitionPolicy defines set old any more", "odd"}},
		"cpu above": {podOf(container("app", "set-small=1 cpu=5", "")), ReasonAboveSet,
			[]string{"spec.containers[0].resources.limits[cpu]", `"5"`, "above the 4", "1 × aipub.io/set-small", "leave cpu out"}},
		"memory above by one byte": {podOf(container("app", "set-small=1 memory=17179869185", "")), ReasonAboveSet,
			[]string{"resources.limits[memory]", "above the 16Gi"}},
		"only the request above": {podOf(container("app", "set-small=1", "cpu=5")), ReasonAboveSet,
			[]string{"resources.requests[cpu]"}},
		"init container of another set": {withInit(container("prepare", "set-medium=1", ""), container("app", "set-small=1", "")), ReasonInitSetDiffers,
			[]string{"spec.initContainers[0].resources.limits[aipub.io/set-medium]", "aipub.io/set-small"}},
		"init container alone": {withInit(container("prepare", "set-small=1", ""), container("app", "", "")), ReasonInitSetDiffers,
			[]string{"spec.initContainers[0]", "whole life of the pod", "let one of spec.containers"}},
		"second container": {podOf(container("a", "", ""), container("b", "set-none=1", "")), ReasonUnknownSet,
			[]string{"spec.containers[1]"}},
		"ephemeral container": {ephemeral, ReasonSetOutsideContainer, []string{"spec.ephemeralContainers[0].resources.limits[aipub.io/set-small]"}},
		"pod as a whole":      {podLevel, ReasonSetOutsideContainer, []string{"spec.resources.limits[aipub.io/set-small]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, refusals := Expand(tc.pod, testSets())
			if diff := cmp.Diff([]Reason{tc.reason}, refusals.reasons()); diff != "" {
				t.Fatalf("reasons (-want +got):\n%s\n%s", diff, refusals)
			}
			requireSentence(t, refusals.String(), tc.sentence...)
			if len(x.Containers) > 0 || x.Annotation != "" || len(x.Warnings) > 0 {
				t.Errorf("a refused pod has an expansion: %v", x)
			}
			if diff := cmp.Diff([]Reason{tc.reason}, Check(tc.pod, testSets()).reasons()); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefusalsOfSeveralContainersAreAllNamed(t *testing.T) {
	pod := podOf(container("a", "set-none=1", ""), container("b", "set-small=1 cpu=5 memory=1Ti", ""))
	_, refusals := Expand(pod, testSets())
	if diff := cmp.Diff([]Reason{ReasonUnknownSet, ReasonAboveSet, ReasonAboveSet}, refusals.reasons()); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestUnknownSetWithNoSetsAtAll(t *testing.T) {
	_, refusals := Expand(podOf(container("app", "set-small=1", "")), nil)
	requireSentence(t, refusals.String(), "none; ask the platform team for a PartitionPolicy")
}

func TestCheckRefusesWhatWasNotExpanded(t *testing.T) {
	cases := map[string]*corev1.Pod{
		"nothing filled in": podOf(container("app", "set-small=1", "")),
		"changed by others": podOf(container("app", "set-small=1 cpu=2 memory=16Gi", "")),
	}
	for name, pod := range cases {
		t.Run(name, func(t *testing.T) {
			refusals := Check(pod, testSets())
			if diff := cmp.Diff([]Reason{ReasonNotExpanded}, refusals.reasons()); diff != "" {
				t.Fatalf("reasons (-want +got):\n%s", diff)
			}
			requireSentence(t, refusals.String(), "spec.containers[0].resources", "cpu 4 and memory 16Gi", "MutatingWebhookConfiguration aipub")
		})
	}
}

func TestCheckResize(t *testing.T) {
	before := podOf(container("app", "set-small=1 cpu=4 memory=16Gi", ""), container("proxy", "cpu=1 memory=1Gi", ""))
	other := before.DeepCopy()
	other.Spec.Containers[1].Resources.Limits = list("cpu=2 memory=1Gi")
	if refusals := CheckResize(before, other, testSets()); len(refusals) > 0 {
		t.Errorf("a container without a set may be resized, but: %s", refusals)
	}
	if refusals := CheckResize(before, before.DeepCopy(), testSets()); len(refusals) > 0 {
		t.Errorf("nothing changed, but: %s", refusals)
	}
	grown := before.DeepCopy()
	grown.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = list("cpu=8")[corev1.ResourceCPU]
	refusals := CheckResize(before, grown, testSets())
	if diff := cmp.Diff([]Reason{ReasonResize}, refusals.reasons()); diff != "" {
		t.Fatalf("reasons (-want +got):\n%s", diff)
	}
	requireSentence(t, refusals.String(), "spec.containers[0].resources", "aipub.io/set-small", "create a new pod")
}

// A pod that waits while its set changes may be given what belongs to the set now, and
// nothing else.
func TestCheckResizeWhileTheGateIsClosed(t *testing.T) {
	waiting := podOf(container("app", "set-small=1 cpu=3 memory=12Gi", ""))
	waiting.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.QuotaGate}}
	for size, allowed := range map[string]bool{"cpu=4 memory=16Gi": true, "cpu=8 memory=16Gi": false, "cpu=2 memory=16Gi": false} {
		resized := waiting.DeepCopy()
		r := &resized.Spec.Containers[0].Resources
		r.Limits = list("set-small=1 " + size)
		r.Requests = r.Limits
		if refusals := CheckResize(waiting, resized, testSets()); (len(refusals) == 0) != allowed {
			t.Errorf("%s: refused with %q, want it allowed: %v", size, refusals, allowed)
		}
		open := waiting.DeepCopy()
		open.Spec.SchedulingGates = nil
		if refusals := CheckResize(open, resized, testSets()); len(refusals) == 0 {
			t.Errorf("%s: a pod whose gate is open was resized", size)
		}
	}
}
