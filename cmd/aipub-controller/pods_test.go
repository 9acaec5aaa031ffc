// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// setPod has one container app with limits such as "large=1 cpu=2": a name that
// is not cpu or memory is a set's.
func setPod(namespace, name, limits string) *corev1.Pod {
	list := corev1.ResourceList{}
	for _, pair := range strings.Fields(limits) {
		key, value, _ := strings.Cut(pair, "=")
		if key != "cpu" && key != "memory" {
			key = v1alpha1.ResourcePrefix + key
		}
		list[corev1.ResourceName(key)] = resource.MustParse(value)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "example.com/app", Resources: corev1.ResourceRequirements{Limits: list},
		}}},
	}
}

func requireResources(t *testing.T, pod *corev1.Pod, cpu, memory string) {
	t.Helper()
	r := pod.Spec.Containers[0].Resources
	for side, list := range map[string]corev1.ResourceList{"requests": r.Requests, "limits": r.Limits} {
		if list.Cpu().String() != cpu || list.Memory().String() != memory {
			t.Errorf("%s are cpu %s and memory %s, want %s and %s", side, list.Cpu(), list.Memory(), cpu, memory)
		}
	}
	if pod.Status.QOSClass != corev1.PodQOSGuaranteed {
		t.Errorf("the pod is %s, want Guaranteed", pod.Status.QOSClass)
	}
	if got := pod.Annotations[v1alpha1.SetAnnotation]; got != "app=large" {
		t.Errorf("annotation %q, want app=large", got)
	}
}

func testPodExpansion(t *testing.T, c *cluster) {
	c.warnings.take()
	t.Run("only a set", func(t *testing.T) {
		pod := setPod("team", "one", "large=1")
		c.mustCreate(t, pod)
		requireResources(t, pod, "28", "240Gi")
	})
	t.Run("dry run, generated name", func(t *testing.T) {
		pod := setPod("team", "", "large=2")
		pod.GenerateName = "worker-"
		if err := c.Create(t.Context(), pod, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		requireResources(t, pod, "56", "480Gi")
	})
	t.Run("a request alone", func(t *testing.T) {
		pod := setPod("team", "request", "large=1")
		r := &pod.Spec.Containers[0].Resources
		r.Requests, r.Limits = r.Limits, nil
		c.mustCreate(t, pod)
		requireResources(t, pod, "28", "240Gi")
	})
	if warnings := c.warnings.take(); warnings != "" {
		t.Errorf("warnings %q, want none so far", warnings)
	}
	t.Run("lower is raised with a warning", func(t *testing.T) {
		pod := setPod("team", "lower", "large=1 cpu=2")
		c.mustCreate(t, pod)
		requireResources(t, pod, "28", "240Gi")
		want := "spec.containers[0].resources: cpu was raised from 2 to the 28 that belong to 1 × aipub.io/set-large"
		if warnings := c.warnings.take(); strings.Count(warnings, want) != 1 {
			t.Errorf("warnings %q, want once %q", warnings, want)
		}
	})
	t.Run("a LimitRange's defaults are not the user's", func(t *testing.T) {
		c.mustCreate(t, namespace("limited", map[string]string{v1alpha1.ProjectLabel: "vision"}))
		c.mustCreate(t, &corev1.LimitRange{
			ObjectMeta: metav1.ObjectMeta{Namespace: "limited", Name: "defaults"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
				Default:        corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourceMemory: resource.MustParse("1Gi")},
				DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}}},
		})
		eventually(t, "the LimitRange", func() error {
			probe := setPod("limited", "probe", "")
			if err := c.Create(t.Context(), probe, client.DryRunAll); err != nil || probe.Spec.Containers[0].Resources.Limits.Cpu().IsZero() {
				return fmt.Errorf("no defaults yet (%w)", err)
			}
			return nil
		})
		pod := setPod("limited", "one", "large=1")
		c.mustCreate(t, pod)
		requireResources(t, pod, "28", "240Gi")
		if warnings := c.warnings.take(); warnings != "" {
			t.Errorf("warnings %q, want none", warnings)
		}
	})
	t.Run("other namespaces are never touched", func(t *testing.T) {
		pod := setPod("plain", "one", "large=1")
		c.mustCreate(t, pod)
		if r := pod.Spec.Containers[0].Resources; len(r.Limits) != 1 || len(pod.Annotations) > 0 {
			t.Errorf("limits %v, annotations %v; want them untouched", r.Limits, pod.Annotations)
		}
	})
}

func testPodRefusals(t *testing.T, c *cluster) {
	cases := map[string]struct {
		pod   *corev1.Pod
		parts []string
	}{
		"two sets":    {setPod("team", "x", "large=1 cpu=1"), nil},
		"a part":      {setPod("team", "x", "large=500m"), []string{"spec.containers[0].resources.limits[aipub.io/set-large]", "500m", "whole number"}},
		"none":        {setPod("team", "x", "large=0"), []string{`"0"`, "whole number"}},
		"unknown":     {setPod("team", "x", "larg=1"), []string{"no set has the name larg", "closest first: large"}},
		"cpu above":   {setPod("team", "x", "large=1 cpu=29"), []string{"spec.containers[0].resources.limits[cpu]", "above the 28"}},
		"far too big": {setPod("team", "x", "large=1 memory=1Ti"), []string{"limits[memory]", "above the 240Gi"}},
	}
	twoSets := setPod("team", "x", "large=1")
	twoSets.Spec.Containers[0].Resources.Limits[v1alpha1.ResourcePrefix+"cpu"] = resource.MustParse("1")
	cases["two sets"] = struct {
		pod   *corev1.Pod
		parts []string
	}{twoSets, []string{"aipub.io/set-cpu, aipub.io/set-large", "keep one"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { requireRefused(t, c.Create(t.Context(), tc.pod), tc.parts...) })
	}
}

func testRunningPods(t *testing.T, c *cluster) {
	var pod corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "one"}, &pod); err != nil {
		t.Fatal(err)
	}
	t.Run("resize", func(t *testing.T) {
		resized := pod.DeepCopy()
		r := &resized.Spec.Containers[0].Resources
		r.Limits[corev1.ResourceCPU], r.Requests[corev1.ResourceCPU] = resource.MustParse("30"), resource.MustParse("30")
		err := c.SubResource("resize").Update(t.Context(), resized)
		requireRefused(t, err, "spec.containers[0].resources", "aipub.io/set-large is of one size")
	})
	t.Run("ephemeral container", func(t *testing.T) {
		debug := pod.DeepCopy()
		debug.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
			Name: "debug", Image: "example.com/debug", Resources: setPod("", "", "large=1").Spec.Containers[0].Resources}}}
		err := c.SubResource("ephemeralcontainers").Update(t.Context(), debug)
		requireRefused(t, err, "spec.ephemeralContainers[0].resources", "cannot be set for an Ephemeral Container")
	})
	t.Run("labels change freely", func(t *testing.T) {
		labelled := pod.DeepCopy()
		labelled.Labels = map[string]string{"a": "b"}
		if err := c.Update(t.Context(), labelled); err != nil {
			t.Error(err)
		}
	})
}
