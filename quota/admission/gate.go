// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// firstSet is the set that a pod asks for, the first one where it asks for several;
// empty when it asks for none. Containers that run on come before init containers.
func firstSet(spec *corev1.PodSpec) string {
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for _, c := range list {
			for _, name := range ownNames(c.Resources) {
				if set, is := strings.CutPrefix(name, v1alpha1.ResourcePrefix); is {
					return set
				}
			}
		}
	}
	return ""
}

// SetsOf counts the sets that a pod holds, as Kubernetes counts extended resources:
// those of containers and sidecars together, or those of an init container and the
// sidecars before it where these are more.
func SetsOf(spec *corev1.PodSpec) map[string]int64 {
	running, starting := map[string]int64{}, map[string]int64{}
	for _, a := range containersOf(spec) {
		for _, name := range ownNames(a.container.Resources) {
			set, is := strings.CutPrefix(name, v1alpha1.ResourcePrefix)
			if !is {
				continue
			}
			_, given := a.find(name)
			if a.init {
				starting[set] = max(starting[set], running[set]+given[1].Value())
			} else {
				running[set] += given[1].Value()
			}
		}
	}
	for set, count := range starting {
		running[set] = max(running[set], count)
	}
	return running
}

// closeGate adds the gate and the label of a pod that asks for a set, and refuses a
// node that its author chose.
func closeGate(pod *corev1.Pod) ([]jsonpatch.JsonPatchOperation, Refusals) {
	set := firstSet(&pod.Spec)
	if set == "" {
		return nil, nil
	}
	if pod.Spec.NodeName != "" {
		return nil, Refusals{{Reason: ReasonNodeChosen, Field: "spec.nodeName", Value: pod.Spec.NodeName,
			Detail: "names the node of a pod that asks for " + v1alpha1.ResourcePrefix + set + ", which AIPub chooses when the pod's turn comes; leave it out, or narrow the choice with spec.nodeSelector"}}
	}
	var ops []jsonpatch.JsonPatchOperation
	if pod.Labels[v1alpha1.SetLabel] != set {
		ops = put("/metadata/labels", pod.Labels, map[string]string{v1alpha1.SetLabel: set})
	}
	gate := corev1.PodSchedulingGate{Name: v1alpha1.QuotaGate}
	switch {
	case slices.Contains(pod.Spec.SchedulingGates, gate):
	case pod.Spec.SchedulingGates == nil:
		ops = append(ops, jsonpatch.NewOperation("add", "/spec/schedulingGates", []corev1.PodSchedulingGate{gate}))
	default:
		ops = append(ops, jsonpatch.NewOperation("add", "/spec/schedulingGates/-", gate))
	}
	return ops, nil
}
