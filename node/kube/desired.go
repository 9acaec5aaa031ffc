// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
)

// Desired is what the cluster says about one node at one moment.
type Desired struct {
	// NodeUID and Labels are of the Node object.
	NodeUID types.UID
	Labels  map[string]string
	// CPUMilli and MemoryBytes are allocatable: what the kubelet leaves after
	// its own reservations, in thousandths of a core and in bytes.
	CPUMilli, MemoryBytes int64
	// BootID is the boot that the kubelet reports; it lags behind a reboot.
	BootID string
	// Policies are all PartitionPolicies and Sets all ResourceSets, by name.
	Policies []api.PartitionPolicy
	Sets     []api.ResourceSet
}

// NewDesired gathers a Desired from the objects. The lists are sorted by name,
// so that equal clusters give equal values.
func NewDesired(node *corev1.Node, policies []api.PartitionPolicy, sets []api.ResourceSet) Desired {
	d := Desired{
		NodeUID:     node.UID,
		Labels:      node.Labels,
		CPUMilli:    node.Status.Allocatable.Cpu().MilliValue(),
		MemoryBytes: node.Status.Allocatable.Memory().Value(),
		BootID:      node.Status.NodeInfo.BootID,
		Policies:    slices.Clone(policies),
		Sets:        slices.Clone(sets),
	}
	slices.SortFunc(d.Policies, func(a, b api.PartitionPolicy) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Sets, func(a, b api.ResourceSet) int { return strings.Compare(a.Name, b.Name) })
	return d
}
