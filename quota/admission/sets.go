// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Sets are the ResourceSets that exist, by name.
type Sets map[string]v1alpha1.ResourceSetSpec

// MakeSets indexes a list of ResourceSets.
func MakeSets(items []v1alpha1.ResourceSet) Sets {
	sets := make(Sets, len(items))
	for _, item := range items {
		sets[item.Name] = item.Spec
	}
	return sets
}

// defined returns the names that a new pod may ask for.
func (s Sets) defined() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !retired(s[name]) {
			names = append(names, name)
		}
	}
	return names
}

// retired reports whether a set is kept only for those who still hold it.
func retired(set v1alpha1.ResourceSetSpec) bool { return len(set.Policies) == 0 }

// amounts is the CPU and memory that belong to a number of sets.
func amounts(set v1alpha1.ResourceSetSpec, count int64) corev1.ResourceList {
	cpu, memory := quota.SetSize(&set, count)
	return corev1.ResourceList{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory}
}
