// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// Check judges a new pod after all mutation: it must hold exactly what its sets
// expand to. This catches pods that came by while the mutating webhook was
// missing, and other webhooks that changed our work.
func Check(pod *corev1.Pod, sets Sets) Refusals {
	expansion, refusals := Expand(pod, sets)
	if len(refusals) > 0 {
		return refusals
	}
	for _, f := range expansion.Containers {
		cpu, memory := f.Limits[corev1.ResourceCPU], f.Limits[corev1.ResourceMemory]
		refusals = append(refusals, Refusal{
			Reason: ReasonNotExpanded, Field: f.Field.Child("resources").String(),
			Detail: fmt.Sprintf("requests and limits must both be cpu %s and memory %s, which belong to the set; "+
				"they are filled in on creation, so see that the MutatingWebhookConfiguration %s exists and that no other webhook changes them",
				cpu.String(), memory.String(), ConfigurationName),
		})
	}
	return refusals
}

// CheckResize judges a change of a pod's resources: those of containers with a set
// stay as they are, since the set's slice does not grow with them. Only while its gate
// is closed may a pod be given what belongs to its sets now, where they have changed
// since it was made. Containers keep their order and number in a resize.
func CheckResize(before, after *corev1.Pod, sets Sets) Refusals {
	if gated(before) && len(Check(after, sets)) == 0 {
		return nil
	}
	old := map[string]corev1.ResourceRequirements{}
	for _, c := range containersOf(&before.Spec) {
		old[c.pointer] = c.container.Resources
	}
	var refusals Refusals
	for _, now := range containersOf(&after.Spec) {
		was, existed := old[now.pointer]
		if !existed || len(ownNames(was)) == 0 {
			continue
		}
		if same(was.Requests, now.container.Resources.Requests) && same(was.Limits, now.container.Resources.Limits) {
			continue
		}
		refusals = append(refusals, Refusal{
			Reason: ReasonResize, Field: now.field.Child("resources").String(),
			Detail: fmt.Sprintf("%s is of one size, which cannot change while it is held; create a new pod with more sets or a larger one",
				ownNames(was)[0]),
		})
	}
	return refusals
}

func gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == v1alpha1.QuotaGate })
}
