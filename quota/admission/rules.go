// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"aipub.io/aipub/api/v1alpha1"
)

// initSets refuses init containers that ask for a set which no container that
// runs on asks for: the kubelet gives devices back only when the pod ends, so
// the slice would be held and idle for all that time.
func initSets(asks []ask) Refusals {
	running := map[string]bool{}
	var names []string
	for _, a := range asks {
		if a.set != "" && !a.init && !running[a.set] {
			running[a.set] = true
			names = append(names, v1alpha1.ResourcePrefix+a.set)
		}
	}
	var refusals Refusals
	for _, a := range asks {
		if a.set == "" || !a.init || running[a.set] {
			continue
		}
		detail := "the slice would be held for the whole life of the pod although only an init container uses it; "
		if len(names) == 0 {
			detail += "let one of spec.containers ask for the set too"
		} else {
			detail += "ask for the set of the other containers: " + strings.Join(names, ", ")
		}
		refusals = append(refusals, Refusal{
			Reason: ReasonInitSetDiffers,
			Field:  a.field.Child("resources", "limits").Key(v1alpha1.ResourcePrefix + a.set).String(),
			Detail: detail,
		})
	}
	return refusals
}

// outsideContainers refuses sets where none can be given: on the pod as a whole
// and on ephemeral containers.
func outsideContainers(spec *corev1.PodSpec) Refusals {
	var refusals Refusals
	refuse := func(at *field.Path, names []string) {
		for _, name := range names {
			refusals = append(refusals, Refusal{
				Reason: ReasonSetOutsideContainer, Field: at.Child("resources", "limits").Key(name).String(),
				Detail: "a set belongs to one container; ask for it in spec.containers[…].resources.limits",
			})
		}
	}
	if spec.Resources != nil {
		refuse(field.NewPath("spec"), ownNames(*spec.Resources))
	}
	for i, c := range spec.EphemeralContainers {
		refuse(field.NewPath("spec", "ephemeralContainers").Index(i), ownNames(c.Resources))
	}
	return refusals
}

// alignmentLost warns once when containers without a set take the pod out of
// the Guaranteed class, in which alone the kubelet pins CPUs beside the GPU.
func alignmentLost(pod *corev1.Pod, asks []ask) []string {
	var loose []string
	withSet := false
	for _, a := range asks {
		switch {
		case a.set != "":
			withSet = true
		case !guaranteed(a.container.Resources):
			loose = append(loose, a.container.Name)
		}
	}
	if !withSet || len(loose) == 0 || pod.Spec.Resources != nil {
		return nil
	}
	return []string{fmt.Sprintf("containers %s have no equal cpu and memory requests and limits, so the pod is Burstable "+
		"and its CPUs are not pinned beside its GPU; give them cpu and memory limits", strings.Join(loose, ", "))}
}

// guaranteed reports whether a container alone would be of the Guaranteed class.
func guaranteed(r corev1.ResourceRequirements) bool {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limit, has := r.Limits[name]
		if !has || limit.IsZero() {
			return false
		}
		if request, has := r.Requests[name]; has && request.Cmp(limit) != 0 {
			return false
		}
	}
	return true
}
