// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// filled gives a pod CPU and memory as admission did when the set was larger than it
// is now, which is 1 and 1Gi.
func filled(pod *corev1.Pod) *corev1.Pod {
	pod.Annotations[api.SetAnnotation] = "main=small"
	r := &pod.Spec.Containers[0].Resources
	r.Limits = corev1.ResourceList{
		api.ResourcePrefix + "small": resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("3Gi"),
	}
	r.Requests = r.Limits
	return pod
}

func sizeOf(pod *corev1.Pod) string {
	r := pod.Spec.Containers[0].Resources
	return fmt.Sprintf("%s %s, %s %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Cpu(), r.Limits.Memory())
}

// A set that changes while pods wait gives them what it is when they go.
func testSetChanged(t *testing.T, c *apiServer) {
	c.project(t, "sizes")
	sidecar := filled(gatedPod("sizes", "alice", "sidecar"))
	always := corev1.ContainerRestartPolicyAlways
	sidecar.Spec.InitContainers = []corev1.Container{*sidecar.Spec.Containers[0].DeepCopy()}
	sidecar.Spec.InitContainers[0].RestartPolicy = &always
	sidecar.Spec.Containers[0].Name, sidecar.Spec.Containers[0].Resources = "plain", corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("7"), corev1.ResourceMemory: resource.MustParse("7Gi")},
	}
	for _, pod := range []*corev1.Pod{filled(gatedPod("sizes", "alice", "bare")), ownedBy(filled(gatedPod("sizes", "alice", "owned")), "Job", "j", "u-j"), sidecar} {
		c.mustCreate(t, pod)
		opened := c.requireOpen(t, "sizes", pod.Name)
		if pod == sidecar {
			plain := opened.Spec.Containers[0]
			opened.Spec.Containers = opened.Spec.InitContainers
			if plain.Resources.Limits.Cpu().String() != "7" {
				t.Errorf("a container without a set was given %v", plain.Resources.Limits)
			}
		}
		if got := sizeOf(opened); got != "1 1Gi, 1 1Gi" {
			t.Errorf("%s opened with %s, want what the set is now", pod.Name, got)
		}
		condition := c.requireCondition(t, "sizes", pod.Name, "True "+api.ReasonSetChanged)
		for _, part := range []string{"its gate is open, on node n", "set small has changed", "container main got cpu 2 and memory 3Gi, now cpu 1 and memory 1Gi"} {
			if !strings.Contains(condition.Message, part) {
				t.Errorf("%s: message %q lacks %q", pod.Name, condition.Message, part)
			}
		}
		c.finish(t, "sizes", pod.Name)
	}
	untouched := filled(gatedPod("sizes", "alice", "untouched"))
	delete(untouched.Annotations, api.SetAnnotation) // admission did not fill it
	c.mustCreate(t, untouched)
	if got := sizeOf(c.requireOpen(t, "sizes", "untouched")); got != "2 3Gi, 2 3Gi" {
		t.Errorf("what the user chose became %s", got)
	}
	c.finish(t, "sizes", "untouched")
}

// Where the API server does not let a pod have the size, it does not go with the wrong
// one: who is made again is, and the others are told.
func testResizeRefused(t *testing.T, c *apiServer) {
	c.project(t, "bounded")
	c.mustCreate(t, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "bounded", Name: "least"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Min: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}},
	}})
	eventually(t, "the LimitRange", func() error {
		probe := gatedPod("bounded", "alice", "probe")
		probe.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		probe.Spec.Containers[0].Resources.Requests = nil
		if err := c.Create(t.Context(), probe, client.DryRunAll); err == nil {
			return fmt.Errorf("it is not known yet")
		}
		return nil
	})
	c.mustCreate(t, filled(gatedPod("bounded", "alice", "bare")))
	owned := ownedBy(filled(gatedPod("bounded", "alice", "owned")), "Job", "k", "u-k")
	c.mustCreate(t, owned)
	condition := c.requireCondition(t, "bounded", "bare", "False "+api.ReasonSetChanged)
	for _, part := range []string{"set small has changed", "minimum cpu usage", "delete the pod and make it anew"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("message %q lacks %q", condition.Message, part)
		}
	}
	eventually(t, "eviction", func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(owned), &corev1.Pod{}); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the pod is still there: %w", err)
		}
		return nil
	})
	bare := c.get(t, "bounded", "bare")
	if isOpen(bare) {
		t.Error("a pod was opened with a size that its set no longer has")
	}
	if err := c.Delete(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
}
