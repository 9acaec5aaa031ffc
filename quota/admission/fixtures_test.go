// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
)

var always = corev1.ContainerRestartPolicyAlways

// testSets are: small 4 CPU 16Gi, medium 8 CPU 32Gi, tiny 500m 1Gi, odd 1500m
// 3Gi, and old, which no policy defines any more.
func testSets() Sets {
	set := func(name, cpu, memory string, policies ...string) v1alpha1.ResourceSet {
		return v1alpha1.ResourceSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.ResourceSetSpec{
				ResourceName: v1alpha1.ResourcePrefix + name,
				CPU:          resource.MustParse(cpu), Memory: resource.MustParse(memory), Policies: policies,
			},
		}
	}
	return MakeSets([]v1alpha1.ResourceSet{
		set("small", "4", "16Gi", "h200"), set("medium", "8", "32Gi", "h200"),
		set("tiny", "500m", "1Gi", "cpu"), set("odd", "1500m", "3Gi", "cpu"), set("old", "1", "1Gi"),
	})
}

// list reads "cpu=2 set-small=1": a bare set-… stands for aipub.io/set-….
func list(s string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, pair := range strings.Fields(s) {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "set-") {
			name = "aipub.io/" + name
		}
		out[corev1.ResourceName(name)] = resource.MustParse(value)
	}
	return out
}

// show is the inverse of list, sorted.
func show(l corev1.ResourceList) string {
	var pairs []string
	for name, q := range l {
		pairs = append(pairs, fmt.Sprintf("%s=%s", strings.TrimPrefix(string(name), "aipub.io/"), q.String()))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// container has the limits and, as the API server defaults them, requests of
// the same value where the requests say nothing.
func container(name, limits, requests string) corev1.Container {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: list(limits), Requests: list(requests)}}
	for resourceName, q := range c.Resources.Limits {
		if _, has := c.Resources.Requests[resourceName]; !has {
			c.Resources.Requests[resourceName] = q
		}
	}
	return c
}

func podOf(containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: containers}}
}

func (r Refusals) reasons() []Reason {
	var out []Reason
	for _, refusal := range r {
		out = append(out, refusal.Reason)
	}
	return out
}

// requireSentence checks that a message names all that its reader needs.
func requireSentence(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("the message lacks %q:\n%s", part, got)
		}
	}
}
