// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// asking is a container that asks for one of each set.
func asking(name string, sets ...string) corev1.Container {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{}}}
	for _, s := range sets {
		c.Resources.Limits[corev1.ResourceName(api.ResourcePrefix+s)] = resource.MustParse("1")
	}
	return c
}

func TestSetsOfAPod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := asking("proxy", "cpu")
	sidecar.RestartPolicy = &always
	for name, tc := range map[string]struct {
		init, main []corev1.Container
		want       map[string]int64
	}{
		"containers together":         {nil, []corev1.Container{asking("a", "small"), asking("b", "small", "cpu")}, map[string]int64{"cpu": 1, "small": 2}},
		"an init container before":    {[]corev1.Container{asking("i", "small")}, []corev1.Container{asking("a", "small")}, map[string]int64{"small": 1}},
		"an init container alone":     {[]corev1.Container{asking("i", "large")}, []corev1.Container{asking("a", "small")}, map[string]int64{"large": 1, "small": 1}},
		"a sidecar beside":            {[]corev1.Container{sidecar}, []corev1.Container{asking("a", "cpu")}, map[string]int64{"cpu": 2}},
		"an init container behind it": {[]corev1.Container{sidecar, asking("i", "cpu")}, []corev1.Container{asking("a", "small")}, map[string]int64{"cpu": 2, "small": 1}},
		"none":                        {nil, []corev1.Container{asking("a")}, map[string]int64{}},
	} {
		if got := Sets(&corev1.PodSpec{InitContainers: tc.init, Containers: tc.main}); !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
