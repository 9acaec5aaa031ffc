// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func filledContainer(name, set, count, cpu, memory string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
		corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse(count),
		corev1.ResourceCPU:                            resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

func TestRefills(t *testing.T) {
	sets := SetSpecs([]api.ResourceSet{{ObjectMeta: metav1.ObjectMeta{Name: "small"},
		Spec: api.ResourceSetSpec{CPU: resource.MustParse("2500m"), Memory: resource.MustParse("10Gi")}}})
	for name, tc := range map[string]struct {
		sets       string
		containers []corev1.Container
		init       []corev1.Container
		want       []string
	}{
		"as it is":                {"main=small", []corev1.Container{filledContainer("main", "small", "1", "2", "10Gi")}, nil, nil},
		"written differently":     {"main=small", []corev1.Container{filledContainer("main", "small", "1", "2000m", "10240Mi")}, nil, nil},
		"several are rounded":     {"main=small", []corev1.Container{filledContainer("main", "small", "3", "7", "30Gi")}, nil, nil},
		"less than now":           {"main=small", []corev1.Container{filledContainer("main", "small", "1", "1", "10Gi")}, nil, []string{"main false 2 10Gi"}},
		"more than now":           {"main=small", []corev1.Container{filledContainer("main", "small", "2", "5", "21Gi")}, nil, []string{"main false 5 20Gi"}},
		"one of two":              {"a=small,b=small", []corev1.Container{filledContainer("a", "small", "1", "2", "10Gi"), filledContainer("b", "small", "1", "2", "9Gi")}, nil, []string{"b false 2 10Gi"}},
		"a sidecar":               {"side=small", nil, []corev1.Container{filledContainer("side", "small", "1", "3", "10Gi")}, []string{"side true 2 10Gi"}},
		"not filled by admission": {"", []corev1.Container{filledContainer("main", "small", "1", "1", "1Gi")}, nil, nil},
		"a set that is not known": {"main=gone", []corev1.Container{filledContainer("main", "gone", "1", "1", "1Gi")}, nil, nil},
		"an annotation that lies": {"main=small", []corev1.Container{filledContainer("main", "gone", "1", "1", "1Gi")}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: tc.containers, InitContainers: tc.init}}
			pod.Annotations = map[string]string{api.SetAnnotation: tc.sets}
			var got []string
			for _, r := range Refills(Fills(pod), sets) {
				got = append(got, fmt.Sprintf("%s %v %s %s", r.Container, r.Init, r.NowCPU.String(), r.NowMemory.String()))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
