// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func asks(set, n string) corev1.Container {
	return corev1.Container{
		Name:      "c",
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceName("aipub.io/set-" + set): resource.MustParse(n), "cpu": resource.MustParse("1")}},
	}
}

func sidecar(c corev1.Container) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	c.RestartPolicy = &always
	return c
}

func TestSetsOfCountsWhatAPodNeedsAtOnce(t *testing.T) {
	cases := map[string]struct {
		spec corev1.PodSpec
		want map[string]int
	}{
		"no sets": {corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, map[string]int{}},
		"containers run together": {
			corev1.PodSpec{Containers: []corev1.Container{asks("small", "1"), asks("small", "2"), asks("large", "1")}},
			map[string]int{"small": 3, "large": 1},
		},
		"an init container hands on what it had": {
			corev1.PodSpec{InitContainers: []corev1.Container{asks("small", "1")}, Containers: []corev1.Container{asks("small", "1")}},
			map[string]int{"small": 1},
		},
		"a larger init container counts": {
			corev1.PodSpec{InitContainers: []corev1.Container{asks("small", "3")}, Containers: []corev1.Container{asks("small", "1")}},
			map[string]int{"small": 3},
		},
		"a sidecar runs beside both": {
			corev1.PodSpec{InitContainers: []corev1.Container{sidecar(asks("small", "1")), asks("small", "2")}, Containers: []corev1.Container{asks("small", "1")}},
			map[string]int{"small": 3},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			slim, err := slimPod(&corev1.Pod{Spec: tc.spec})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, setsOf(slim.(*corev1.Pod).Spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContainersAreKnownByTheRuntimesID(t *testing.T) {
	pod := corev1.Pod{Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "side", ContainerID: "containerd://aa"}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "main", ContainerID: "cri-o://bb"}, {Name: "waits"}},
	}}
	slim, err := slimPod(&pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"side": "aa", "main": "bb"}, containersOf(slim.(*corev1.Pod).Status)); diff != "" {
		t.Error(diff)
	}
}
