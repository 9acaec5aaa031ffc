// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestExpandFillsIn(t *testing.T) {
	cases := map[string]struct {
		pod        *corev1.Pod
		want       map[string]string // pointer → "limits", requests are the same
		annotation string
		warnings   int
	}{
		"only a set": {
			pod:  podOf(container("app", "set-small=1", "")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small",
		},
		"several of a set": {
			pod:  podOf(container("app", "set-small=3", "")),
			want: map[string]string{"/spec/containers/0": "cpu=12 memory=48Gi set-small=3"}, annotation: "app=small",
		},
		"a request alone counts as limit": {
			pod:  podOf(container("app", "", "set-small=1")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small",
		},
		"parts of a core stay parts": {
			pod:  podOf(container("app", "set-tiny=3", "")),
			want: map[string]string{"/spec/containers/0": "cpu=1500m memory=3Gi set-tiny=3"}, annotation: "app=tiny",
		},
		"a core and a half is rounded down to whole cores": {
			pod:  podOf(container("app", "set-odd=1", "")),
			want: map[string]string{"/spec/containers/0": "cpu=1 memory=3Gi set-odd=1"}, annotation: "app=odd",
		},
		"three times a core and a half is four cores": {
			pod:  podOf(container("app", "set-odd=3", "")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=9Gi set-odd=3"}, annotation: "app=odd",
		},
		"what the user gave and is equal is kept": {
			pod:  podOf(container("app", "set-small=1 cpu=4000m memory=16384Mi", "")),
			want: map[string]string{}, annotation: "app=small",
		},
		"other resources are kept": {
			pod:        podOf(container("app", "set-small=1 ephemeral-storage=1Gi example.com/nic=1", "")),
			want:       map[string]string{"/spec/containers/0": "cpu=4 ephemeral-storage=1Gi example.com/nic=1 memory=16Gi set-small=1"},
			annotation: "app=small",
		},
		"lower is raised, and said once": {
			pod:  podOf(container("app", "set-small=1 cpu=2", "")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small", warnings: 1,
		},
		"a lower request under an equal limit is raised": {
			pod:  podOf(container("app", "set-small=1 memory=16Gi", "memory=1Gi")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small", warnings: 1,
		},
		"two containers, two sets": {
			pod: podOf(container("app", "set-small=1", ""), container("b", "set-medium=1", "")),
			want: map[string]string{
				"/spec/containers/0": "cpu=4 memory=16Gi set-small=1",
				"/spec/containers/1": "cpu=8 memory=32Gi set-medium=1",
			},
			annotation: "app=small,b=medium",
		},
		"a container without a set is left alone, but the pod is no longer Guaranteed": {
			pod:  podOf(container("app", "set-small=1", ""), container("proxy", "", "cpu=1")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small", warnings: 1,
		},
		"a Guaranteed container without a set needs no warning": {
			pod:  podOf(container("app", "set-small=1", ""), container("proxy", "cpu=1 memory=1Gi", "")),
			want: map[string]string{"/spec/containers/0": "cpu=4 memory=16Gi set-small=1"}, annotation: "app=small",
		},
		"no set at all": {pod: podOf(container("app", "cpu=1", "")), want: map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x, refusals := Expand(tc.pod, testSets())
			if len(refusals) > 0 {
				t.Fatalf("refused: %s", refusals)
			}
			got := map[string]string{}
			for _, f := range x.Containers {
				got[f.Pointer] = show(f.Limits)
				if show(f.Limits) != show(f.Requests) {
					t.Errorf("%s: requests %s differ from limits %s", f.Pointer, show(f.Requests), show(f.Limits))
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if x.Annotation != tc.annotation {
				t.Errorf("annotation %q, want %q", x.Annotation, tc.annotation)
			}
			if len(x.Warnings) != tc.warnings {
				t.Errorf("warnings %q, want %d", x.Warnings, tc.warnings)
			}
			requireIdempotent(t, tc.pod, x)
		})
	}
}

// requireIdempotent applies the expansion and expands again.
func requireIdempotent(t *testing.T, pod *corev1.Pod, x Expansion) {
	t.Helper()
	expanded := pod.DeepCopy()
	for i := range expanded.Spec.Containers {
		for _, f := range x.Containers {
			if f.Field.String() == containersOf(&expanded.Spec)[len(expanded.Spec.InitContainers)+i].field.String() {
				expanded.Spec.Containers[i].Resources.Requests = f.Requests
				expanded.Spec.Containers[i].Resources.Limits = f.Limits
			}
		}
	}
	again, refusals := Expand(expanded, testSets())
	if len(refusals) > 0 || len(again.Containers) > 0 || again.Annotation != x.Annotation {
		t.Errorf("an expanded pod expands again: %v, refusals %v", again, refusals)
	}
	if refusals := Check(expanded, testSets()); len(refusals) > 0 {
		t.Errorf("an expanded pod is refused: %s", refusals)
	}
}

func TestExpandInitContainersAndSidecars(t *testing.T) {
	pod := podOf(container("app", "set-small=1", ""))
	sidecar := container("side", "set-medium=1", "")
	sidecar.RestartPolicy = &always
	pod.Spec.InitContainers = []corev1.Container{container("prepare", "set-small=1", ""), sidecar}
	x, refusals := Expand(pod, testSets())
	if len(refusals) > 0 {
		t.Fatalf("refused: %s", refusals)
	}
	got := map[string]string{}
	for _, f := range x.Containers {
		got[f.Pointer] = show(f.Limits)
	}
	want := map[string]string{
		"/spec/initContainers/0": "cpu=4 memory=16Gi set-small=1",
		"/spec/initContainers/1": "cpu=8 memory=32Gi set-medium=1",
		"/spec/containers/0":     "cpu=4 memory=16Gi set-small=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if want := "prepare=small,side=medium,app=small"; x.Annotation != want {
		t.Errorf("annotation %q, want %q", x.Annotation, want)
	}
}

// A LimitRange's defaults arrive before us; they are not what the user wrote.
func TestExpandReplacesLimitRangeDefaults(t *testing.T) {
	pod := podOf(container("app", "set-small=1 cpu=64 memory=1Gi", ""), container("b", "cpu=1 memory=1Gi", ""))
	pod.Annotations = map[string]string{
		limitRangeAnnotation: "LimitRanger plugin set: cpu, memory request for container app; cpu, memory limit for container app",
	}
	x, refusals := Expand(pod, testSets())
	if len(refusals) > 0 || len(x.Warnings) > 0 {
		t.Fatalf("refusals %s, warnings %q; want none", refusals, x.Warnings)
	}
	if got, want := show(x.Containers[0].Limits), "cpu=4 memory=16Gi set-small=1"; got != want {
		t.Errorf("limits %s, want %s", got, want)
	}
	pod.Annotations[limitRangeAnnotation] = "LimitRanger plugin set: cpu limit for container b"
	if _, refusals := Expand(pod, testSets()); len(refusals) != 1 || refusals[0].Reason != ReasonAboveSet {
		t.Errorf("refusals %s, want one %s: the default was another container's", refusals, ReasonAboveSet)
	}
}

func TestExpandChangesNothing(t *testing.T) {
	pod := podOf(container("app", "set-small=1", ""))
	before := pod.DeepCopy()
	if _, refusals := Expand(pod, testSets()); len(refusals) > 0 {
		t.Fatal(refusals)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod was changed (-before +after):\n%s", diff)
	}
}
