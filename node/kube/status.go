// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Models describes each product among the GPUs once, sorted by name.
func Models(gpus []gpu.GPU) []api.GPUModel {
	var models []api.GPUModel
	for _, g := range gpus {
		known := slices.ContainsFunc(models, func(m api.GPUModel) bool { return m.Name == g.Model })
		if known {
			continue
		}
		m := api.GPUModel{Name: g.Model, Memory: bytes(g.MemoryBytes)}
		if g.MIG != nil {
			m.MIGLiveToggle = g.MIG.LiveToggle
			for _, p := range g.MIG.Profiles {
				m.MIGProfiles = append(m.MIGProfiles, profile(p))
			}
		}
		models = append(models, m)
	}
	slices.SortFunc(models, func(a, b api.GPUModel) int { return strings.Compare(a.Name, b.Name) })
	return models
}

func profile(p gpu.Profile) api.MIGProfile {
	m := api.MIGProfile{
		Enum: int32(p.Enum), ID: int32(p.ID), Name: p.Name,
		ComputeSlices: int32(p.ComputeSlices), MemorySlices: int32(p.MemorySlices),
		Multiprocessors: int32(p.Multiprocessors), Memory: bytes(p.MemoryBytes),
		MaxCount: int32(p.MaxCount), MediaExtensions: p.MediaExtensions,
	}
	for _, pl := range p.Placements {
		m.Starts = append(m.Starts, int32(pl.Start))
		m.Size = int32(pl.Size)
	}
	return m
}

// GPUs describes each board, with the mode that it is used in and its health.
func GPUs(gpus []gpu.GPU, modes map[string]gpu.Mode, health map[string]gpu.Health) []api.NodeGPU {
	out := make([]api.NodeGPU, 0, len(gpus))
	for _, g := range gpus {
		n := api.NodeGPU{
			Index: int32(g.Index), UUID: g.UUID, Minor: int32(g.Minor), Model: g.Model,
			PCIBusID: g.PCIBusID, Mode: api.GPUMode(modes[g.UUID]), Health: healthOf(health, g.UUID),
		}
		if g.NUMANode >= 0 {
			node := int32(g.NUMANode)
			n.NUMANode = &node
		}
		if g.MIG != nil {
			n.MIGEnabled, n.MIGPending = g.MIG.Enabled, g.MIG.Pending
		}
		out = append(out, n)
	}
	return out
}

func healthOf(health map[string]gpu.Health, uuid string) api.Health {
	h, ok := health[uuid]
	if !ok {
		return api.Health{OK: true}
	}
	return api.Health{OK: h.OK, Reason: h.Reason, Message: h.Message}
}

// Slices describes everything that can be handed out.
func Slices(snap gpu.Snapshot) []api.NodeSlice {
	out := make([]api.NodeSlice, 0, len(snap.Slices))
	for _, st := range snap.Slices {
		n := api.NodeSlice{
			ID: string(st.Slice.ID), Set: st.Slice.Set, GPUs: st.Slice.GPUs,
			State: api.SliceState(st.State), Since: metav1.NewTime(st.Since), Uses: uses(st.Slice),
		}
		if b := st.Slice.Block; b != nil {
			n.BlockPercent = int32(b.Percent)
			q := bytes(b.MemoryBytes)
			n.BlockMemory = &q
		}
		n.MIG = instance(st)
		n.Reason, n.Message = why(st)
		if !st.Holder.IsZero() {
			n.Holder = &api.Holder{Namespace: st.Holder.Namespace, Pod: st.Holder.Pod, Container: st.Holder.Container}
		}
		out = append(out, n)
	}
	return out
}

// Counters are the capacities that slices share.
func Counters(snap gpu.Snapshot) map[string]int64 {
	if len(snap.Totals) == 0 {
		return nil
	}
	out := make(map[string]int64, len(snap.Totals))
	for c, total := range snap.Totals {
		out[string(c)] = total
	}
	return out
}

// uses sums up what a slice takes of each counter.
func uses(s gpu.Slice) map[string]int64 {
	if len(s.Uses) == 0 {
		return nil
	}
	out := make(map[string]int64, len(s.Uses))
	for _, u := range s.Uses {
		out[string(u.Counter)] += u.Amount
	}
	return out
}

func instance(st gpu.Status) *api.NodeMIG {
	t := st.Slice.MIG
	if t == nil {
		return nil
	}
	m := &api.NodeMIG{Profile: t.Profile.Name, Start: int32(t.Placement.Start), Size: int32(t.Placement.Size)}
	if in := st.Instance; in != nil {
		gi, ci := int32(in.GIID), int32(in.CIID)
		m.UUID, m.GPUInstance, m.ComputeInstance = in.UUID, &gi, &ci
	}
	return m
}

// why gives the reason and the sentence for a state that needs one.
func why(st gpu.Status) (reason, message string) {
	switch {
	case !st.Health.OK && st.Health.Reason != "":
		return st.Health.Reason, st.Health.Message
	case st.State == gpu.StateBlocked:
		return "Overlap", "what others hold leaves too little of " + string(st.BlockedBy)
	case st.State == gpu.StatePreparing:
		return "Preparing", "its MIG instance is being created"
	case st.State == gpu.StateRetired:
		return "Retired", "the policy no longer has it; it goes when its holder ends"
	}
	return "", ""
}

// Sets counts the slices of each set, sorted by name.
func Sets(snap gpu.Snapshot) []api.SetOnNode {
	var names []string
	for _, st := range snap.Slices {
		if !slices.Contains(names, st.Slice.Set) {
			names = append(names, st.Slice.Set)
		}
	}
	slices.Sort(names)
	out := make([]api.SetOnNode, 0, len(names))
	for _, name := range names {
		n := snap.Count(name)
		out = append(out, api.SetOnNode{Name: name, Total: int32(n.Total), Free: int32(n.Free), Held: int32(n.Held)})
	}
	return out
}

func bytes(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }
