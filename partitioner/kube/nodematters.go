// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	api "aipub.io/aipub/api/v1alpha1"
)

// nodeMatters reports whether a change of a Node can change an outcome. Most do
// not: kubelets refresh the heartbeat of each node all the time.
func nodeMatters(before, after *corev1.Node) bool {
	return before.Spec.Unschedulable != after.Spec.Unschedulable ||
		isReady(before) != isReady(after) ||
		!maps.Equal(before.Labels, after.Labels) ||
		!maps.Equal(relevant(before), relevant(after))
}

// partitionMatters reports whether a change of a NodePartition can change an outcome.
// Most do not: agents write anew how slices are used.
func partitionMatters(before, after *api.NodePartition) bool {
	return before.UID != after.UID || before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Status.Steady(), after.Status.Steady())
}

// relevant is what of a node's allocatable amounts a division looks at.
func relevant(node *corev1.Node) map[corev1.ResourceName]string {
	found := map[corev1.ResourceName]string{}
	for name, q := range node.Status.Allocatable {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory || strings.HasPrefix(string(name), api.ResourcePrefix) {
			found[name] = q.String()
		}
	}
	return found
}
