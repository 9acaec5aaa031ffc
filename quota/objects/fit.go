// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Fill is a container to which admission gave the CPU and memory of its sets.
type Fill struct {
	Container string
	// Init is true where it is among the init containers, as a sidecar is.
	Init bool
	// Set without prefix, and how many.
	Set   string
	Count int64
	// CPU and Memory are its limits, to which admission makes its requests equal.
	CPU, Memory resource.Quantity
}

// Fills of a pod: of its containers that admission expanded, and of no others.
func Fills(pod *corev1.Pod) []Fill {
	var out []Fill
	of := map[string]string{}
	for entry := range strings.SplitSeq(pod.Annotations[api.SetAnnotation], ",") {
		if container, set, ok := strings.Cut(entry, "="); ok {
			of[container] = set
		}
	}
	for _, list := range []struct {
		containers []corev1.Container
		init       bool
	}{{pod.Spec.InitContainers, true}, {pod.Spec.Containers, false}} {
		for i := range list.containers {
			c := &list.containers[i]
			set := of[c.Name]
			if n := ContainerSets(c)[set]; n > 0 {
				limits := c.Resources.Limits
				out = append(out, Fill{
					Container: c.Name, Init: list.init, Set: set, Count: n,
					CPU: limits[corev1.ResourceCPU], Memory: limits[corev1.ResourceMemory],
				})
			}
		}
	}
	return out
}

// Refill is a container whose sets are not any more of the size that it was given.
type Refill struct {
	Fill
	// NowCPU and NowMemory are what belongs to its sets now.
	NowCPU, NowMemory resource.Quantity
}

// Refills are those of the fills whose sets have another size now. A set that is not
// known changes nothing.
func Refills(fills []Fill, sets map[string]*api.ResourceSetSpec) []Refill {
	var out []Refill
	for _, f := range fills {
		set := sets[f.Set]
		if set == nil {
			continue
		}
		cpu, memory := quota.SetSize(set, f.Count)
		if f.CPU.Cmp(cpu) != 0 || f.Memory.Cmp(memory) != 0 {
			out = append(out, Refill{Fill: f, NowCPU: cpu, NowMemory: memory})
		}
	}
	return out
}

// RefillWords say what has changed since a pod was made: "set small has changed since
// the pod was made: container main got cpu 25 and memory 15808Mi, now cpu 20 and memory
// 12672Mi belong to it".
func RefillWords(refills []Refill) string {
	words := make([]string, len(refills))
	for i := range refills {
		r := &refills[i]
		words[i] = fmt.Sprintf("set %s has changed since the pod was made: container %s got cpu %s and memory %s, now cpu %s and memory %s belong to it",
			r.Set, r.Container, r.CPU.String(), r.Memory.String(), r.NowCPU.String(), r.NowMemory.String())
	}
	return strings.Join(words, "; ")
}

// SetSpecs of ResourceSets, by name.
func SetSpecs(sets []api.ResourceSet) map[string]*api.ResourceSetSpec {
	out := make(map[string]*api.ResourceSetSpec, len(sets))
	for i := range sets {
		out[sets[i].Name] = &sets[i].Spec
	}
	return out
}
