// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// NodeFrom makes the node of its two objects, which stay as they are. Either may be
// nil: the node is then not usable.
func NodeFrom(partition *api.NodePartition, node *corev1.Node) Node {
	n := Node{Held: map[gpu.SliceID]string{}, Down: map[gpu.SliceID]bool{}, NotOffered: map[string]bool{}}
	if partition != nil {
		n.Name = partition.Name
		n.slicesFrom(&partition.Status)
	}
	if node != nil {
		n.Name, n.Labels, n.Taints = node.Name, node.Labels, node.Spec.Taints
	}
	n.Unusable = n.unusable(partition, node)
	n.Usable = n.Unusable == ""
	n.compile()
	return n
}

// unusable says why nothing can be placed on the node; nothing if it can.
func (n *Node) unusable(partition *api.NodePartition, node *corev1.Node) string {
	switch {
	case node == nil:
		return "there is no such node"
	case partition == nil || len(partition.Status.Slices) == 0 && partition.Status.AgentVersion == "":
		return "its agent has not reported"
	case len(partition.Status.Slices) > 0 && len(partition.Status.Counters) == 0:
		return "its agent is too old to report counters; update it"
	case node.DeletionTimestamp != nil:
		return "it is being deleted"
	case !isReady(node):
		return "it is not ready"
	case node.Spec.Unschedulable:
		return "it is cordoned"
	case !n.offered(&partition.Status, node):
		return "its kubelet offers none of its sets"
	}
	return ""
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// slicesFrom reads what the agent reports.
func (n *Node) slicesFrom(s *api.NodePartitionStatus) {
	n.Layout = gpu.Layout{
		Modes:  make(map[string]gpu.Mode, len(s.GPUs)),
		Totals: make(map[gpu.Counter]int64, len(s.Counters)),
		Slices: make([]gpu.Slice, 0, len(s.Slices)),
	}
	numa := map[string]*int32{}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		n.Layout.Modes[g.UUID] = gpu.Mode(g.Mode)
		numa[g.UUID] = g.NUMANode
	}
	for c, total := range s.Counters {
		n.Layout.Totals[gpu.Counter(c)] = total
	}
	foreign := map[string]bool{} // GPUs of which it cannot be told how much is left
	for i := range s.Slices {
		from := &s.Slices[i]
		sl := sliceFrom(from, numa)
		n.Layout.Slices = append(n.Layout.Slices, sl)
		switch from.State {
		case api.SliceState(gpu.StateHeld):
			n.Held[sl.ID] = holderOf(from)
		case api.SliceState(gpu.StateRetired):
			n.Held[sl.ID], n.Down[sl.ID] = holderOf(from), true
		case api.SliceState(gpu.StateFree), api.SliceState(gpu.StateBlocked):
		default:
			n.Down[sl.ID] = true
		}
		if _, held := n.Held[sl.ID]; held && !n.counted(sl) {
			for _, uuid := range sl.GPUs {
				foreign[uuid] = true
			}
		}
	}
	for _, sl := range n.Layout.Slices {
		if slices.ContainsFunc(sl.GPUs, func(uuid string) bool { return foreign[uuid] }) {
			n.Down[sl.ID] = true
		}
	}
}

func sliceFrom(from *api.NodeSlice, numa map[string]*int32) gpu.Slice {
	sl := gpu.Slice{ID: gpu.SliceID(from.ID), Set: from.Set, GPUs: from.GPUs, Kind: kindOf(from), NUMANodes: numaOf(from.GPUs, numa)}
	sl.Uses = make([]gpu.Use, 0, len(from.Uses))
	for _, c := range slices.Sorted(maps.Keys(from.Uses)) {
		sl.Uses = append(sl.Uses, gpu.Use{Counter: gpu.Counter(c), Amount: from.Uses[c]})
	}
	return sl
}

func kindOf(s *api.NodeSlice) gpu.Kind {
	switch {
	case s.MIG != nil:
		return gpu.KindMIG
	case s.BlockPercent > 0:
		return gpu.KindBlock
	case len(s.GPUs) > 0:
		return gpu.KindWhole
	}
	return gpu.KindCPU
}

// numaOf are the NUMA nodes of GPUs, none where one is not known.
func numaOf(uuids []string, numa map[string]*int32) []int {
	var all []int
	for _, uuid := range uuids {
		at := numa[uuid]
		if at == nil {
			return nil
		}
		if !slices.Contains(all, int(*at)) {
			all = append(all, int(*at))
		}
	}
	slices.Sort(all)
	return all
}

func holderOf(s *api.NodeSlice) string {
	if s.Holder == nil {
		return ""
	}
	return nameOf(s.Holder.Namespace, s.Holder.Pod)
}

func nameOf(namespace, name string) string { return namespace + "/" + name }

// counted reports whether the node has all counters that a slice takes from. One
// that is held from before a change of mode takes from others.
func (n *Node) counted(sl gpu.Slice) bool {
	return !slices.ContainsFunc(sl.Uses, func(u gpu.Use) bool { _, ok := n.Layout.Totals[u.Counter]; return !ok })
}

// offered notes the sets that have free slices of which the kubelet knows nothing,
// and reports false if it offers nothing at all although there is something: the
// agent's plugin is gone from there. A set of which all is blocked is offered with
// 0 rightly.
func (n *Node) offered(s *api.NodePartitionStatus, node *corev1.Node) bool {
	some, any := false, false
	for i := range s.Slices {
		sl := &s.Slices[i]
		held := sl.State == api.SliceState(gpu.StateHeld)
		if !held && sl.State != api.SliceState(gpu.StateFree) {
			continue
		}
		any = true
		quantity := node.Status.Allocatable[corev1.ResourceName(gpu.ResourceName(sl.Set))]
		if !quantity.IsZero() {
			some = true
		} else if !held {
			n.NotOffered[sl.Set] = true
		}
	}
	return some || !any
}
