// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// Member is one node of the cluster as policies see it.
type Member struct {
	Name   string
	Labels map[string]string
	// Reported is true once the node's agent has said what the node has and the
	// kubelet what is allocatable. Until then Node has a name only.
	Reported bool
	Node     partitioner.Node
}

// ReadMembers lists the nodes with what their agents report, ordered by name.
func ReadMembers(ctx context.Context, reader client.Reader) ([]Member, error) {
	var nodes corev1.NodeList
	if err := reader.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var partitions api.NodePartitionList
	if err := reader.List(ctx, &partitions); err != nil {
		return nil, fmt.Errorf("list node partitions: %w", err)
	}
	return Members(nodes.Items, partitions.Items), nil
}

// Members joins nodes with what their agents report, ordered by name.
func Members(nodes []corev1.Node, partitions []api.NodePartition) []Member {
	byName := map[string]*api.NodePartition{}
	for i := range partitions {
		byName[partitions[i].Name] = &partitions[i]
	}
	members := make([]Member, 0, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		m := Member{Name: n.Name, Labels: n.Labels, Node: partitioner.Node{Name: n.Name}}
		if p := byName[n.Name]; p != nil && hasReported(p) && !n.Status.Allocatable.Cpu().IsZero() {
			m.Reported, m.Node = true, FromNodePartition(p, n.Status.Allocatable)
		}
		members = append(members, m)
	}
	slices.SortFunc(members, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return members
}

// hasReported tells an agent's first report from the empty object before it.
func hasReported(p *api.NodePartition) bool {
	return !equality.Semantic.DeepEqual(p.Status, api.NodePartitionStatus{})
}

// FromNodePartition is the node that a NodePartition describes, with the CPU
// and memory that the kubelet calls allocatable. Models that the NodePartition
// does not describe have no memory and no MIG.
func FromNodePartition(p *api.NodePartition, allocatable corev1.ResourceList) partitioner.Node {
	node := partitioner.Node{
		Name:        p.Name,
		CPUMilli:    allocatable.Cpu().MilliValue(),
		MemoryBytes: allocatable.Memory().Value(),
	}
	for _, n := range p.Status.NUMA {
		node.NUMA = append(node.NUMA, partitioner.NUMANode{ID: int(n.ID), CPUs: int(n.CPUs), MemoryBytes: n.Memory.Value()})
	}
	models := map[string]api.GPUModel{}
	for _, m := range p.Status.Models {
		models[m.Name] = m
	}
	for _, g := range p.Status.GPUs {
		node.GPUs = append(node.GPUs, board(g, models[g.Model]))
	}
	return node
}

func board(g api.NodeGPU, m api.GPUModel) gpu.GPU {
	b := gpu.GPU{
		Index: int(g.Index), Minor: int(g.Minor), UUID: g.UUID, Model: g.Model,
		MemoryBytes: m.Memory.Value(), NUMANode: gpu.NUMAUnknown, PCIBusID: g.PCIBusID,
	}
	if g.NUMANode != nil {
		b.NUMANode = int(*g.NUMANode)
	}
	if len(m.MIGProfiles) > 0 {
		b.MIG = &gpu.MIG{Enabled: g.MIGEnabled, Pending: g.MIGPending, LiveToggle: m.MIGLiveToggle}
		for _, p := range m.MIGProfiles {
			b.MIG.Profiles = append(b.MIG.Profiles, profile(p))
		}
	}
	return b
}

func profile(p api.MIGProfile) gpu.Profile {
	out := gpu.Profile{
		Enum: int(p.Enum), ID: int(p.ID), Name: p.Name,
		ComputeSlices: int(p.ComputeSlices), MemorySlices: int(p.MemorySlices),
		Multiprocessors: int(p.Multiprocessors), MemoryBytes: p.Memory.Value(),
		MaxCount: int(p.MaxCount), MediaExtensions: p.MediaExtensions,
	}
	for _, start := range p.Starts {
		out.Placements = append(out.Placements, gpu.Placement{Start: int(start), Size: int(p.Size)})
	}
	return out
}
