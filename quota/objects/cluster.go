// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// Managed reports whether a namespace whose label names a project is managed; that
// of the system never is.
func Managed(namespace, project string) bool {
	return project != "" && namespace != metav1.NamespaceSystem
}

// Sizes of sets.
func Sizes(sets []api.ResourceSet) quota.Sizes {
	out := make(quota.Sizes, len(sets))
	for i := range sets {
		out[sets[i].Name] = quota.Units(sets[i].Spec.GPUUnits)
	}
	return out
}

// SortQuotas puts quotas in the order in which a decision goes through them.
func SortQuotas(quotas []api.ResourceSetQuota) {
	slices.SortFunc(quotas, func(a, b api.ResourceSetQuota) int { return cmp.Compare(a.Name, b.Name) })
}

// Nodes are those that have an agent, by name. read makes one of its two objects:
// [placement.NodeFrom], or what was kept of it.
func Nodes(partitions []api.NodePartition, nodes []corev1.Node, read func(*api.NodePartition, *corev1.Node) placement.Node) []placement.Node {
	byName := make(map[string]*corev1.Node, len(nodes))
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	out := make([]placement.Node, 0, len(partitions))
	for i := range partitions {
		if node := byName[partitions[i].Name]; node != nil {
			out = append(out, read(&partitions[i], node))
		}
	}
	slices.SortFunc(out, func(a, b placement.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
