// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

// present is a node as it is cut now.
type present struct {
	layout gpu.Layout
	held   map[gpu.SliceID]bool
	slices map[gpu.SliceID]api.NodeSlice
}

// presentOf reads from a NodePartition what Transition compares: modes, and
// where instances lie.
func presentOf(np *api.NodePartition) present {
	p := present{
		layout: gpu.Layout{Modes: map[string]gpu.Mode{}},
		held:   map[gpu.SliceID]bool{},
		slices: map[gpu.SliceID]api.NodeSlice{},
	}
	for _, g := range np.Status.GPUs {
		if g.Mode != "" {
			p.layout.Modes[g.UUID] = gpu.Mode(g.Mode)
		}
	}
	for _, s := range np.Status.Slices {
		id := gpu.SliceID(s.ID)
		sl := gpu.Slice{ID: id, Set: s.Set, GPUs: s.GPUs}
		if s.MIG != nil {
			sl.MIG = &gpu.MIGTarget{Placement: gpu.Placement{Start: int(s.MIG.Start), Size: int(s.MIG.Size)}}
		}
		p.layout.Slices = append(p.layout.Slices, sl)
		p.slices[id] = s
		if isHeld(s) {
			p.held[id] = true
		}
	}
	return p
}

// recut are the GPUs whose cut differs, each with the held slices in the way.
func (p present) recut(to gpu.Layout) map[string][]heldSlice {
	all := map[gpu.SliceID]bool{}
	for id := range p.slices {
		all[id] = true
	}
	out := map[string][]heldSlice{}
	_, changing := partitioner.Transition(p.layout, to, all)
	for _, w := range changing {
		out[w.GPU] = nil
	}
	_, waiting := partitioner.Transition(p.layout, to, p.held)
	for _, w := range waiting {
		for _, id := range w.Held {
			out[w.GPU] = append(out[w.GPU], heldOf(p.slices[id]))
		}
	}
	return out
}

// leaving are the held slices that the new layout does not have. Those on GPUs
// that wait are not among them: they are reported with their GPU.
func (p present) leaving(to gpu.Layout) []heldSlice {
	recut := p.recut(to)
	var out []heldSlice
	for _, s := range p.layout.Slices {
		waits := slices.ContainsFunc(s.GPUs, func(u string) bool { return len(recut[u]) > 0 })
		if _, stays := to.Find(s.ID); p.held[s.ID] && !stays && !waits {
			out = append(out, heldOf(p.slices[s.ID]))
		}
	}
	return out
}

func heldOf(s api.NodeSlice) heldSlice {
	return heldSlice{ID: s.ID, Set: s.Set, Part: sliceWords(s), Holder: orElse(holderWords(s.Holder), "a container that is starting")}
}

// plannedGPUs says of each GPU what it becomes and what that takes.
func plannedGPUs(n partitioner.Node, np *api.NodePartition, layout gpu.Layout, report partitioner.Report) []plannedGPU {
	now := presentOf(np)
	recut := now.recut(layout)
	index := gpuIndices(np.Status)
	var out []plannedGPU
	for _, r := range report.GPUs {
		i := slices.IndexFunc(n.GPUs, func(g gpu.GPU) bool { return g.UUID == r.UUID })
		g := plannedGPU{
			Index: r.Index, UUID: r.UUID, Model: r.Model, NUMA: "unknown",
			Mode: string(r.Mode), Was: string(now.layout.Modes[r.UUID]),
			Slices: slicesWords(layout, r, index), Unused: unusedWords(report.Remainder, r.UUID), Why: r.Lines,
		}
		if numa := n.GPUs[i].NUMANode; numa >= 0 {
			g.NUMA = strconv.Itoa(numa)
		}
		held, changes := recut[r.UUID]
		if r.Mode != "" && (changes || g.Mode != g.Was) {
			g.Change, g.Waits = changeWords(g, n.GPUs[i], held), held
		}
		out = append(out, g)
	}
	return out
}

// changeWords says what has to happen to a GPU.
func changeWords(g plannedGPU, hw gpu.GPU, held []heldSlice) string {
	s := "cut anew"
	switch {
	case g.Was == "":
		s = "cut for the first time"
	case g.Was != g.Mode:
		s = g.Was + " -> " + g.Mode
	}
	if hw.MIG != nil && !hw.MIG.LiveToggle && hw.MIG.Enabled != (g.Mode == string(gpu.ModeMIG)) {
		s += ", by a GPU reset"
	}
	if len(held) > 0 {
		s += ", when idle"
	}
	return s
}

// slicesWords is "4 small or 2 medium": block sizes and groups of GPUs share
// what there is, MIG instances stand side by side.
func slicesWords(l gpu.Layout, r partitioner.GPUReport, index map[string]int) string {
	if r.Mode == "" {
		return "left as it is"
	}
	sep := " or "
	if r.Mode == gpu.ModeMIG {
		sep = " + "
	}
	var words []string
	for _, set := range l.Sets() {
		var on []gpu.Slice
		for _, s := range l.Slices {
			if s.Set == set && slices.Contains(s.GPUs, r.UUID) {
				on = append(on, s)
			}
		}
		if len(on) > 0 {
			words = append(words, setOnGPU(set, on, index))
		}
	}
	return orElse(strings.Join(words, sep), "no set uses it")
}

// setOnGPU describes the slices of one set on one GPU.
func setOnGPU(set string, on []gpu.Slice, index map[string]int) string {
	first := on[0]
	switch {
	case first.MIG != nil:
		return fmt.Sprintf("%d %s (%s)", len(on), set, first.MIG.Profile.Name)
	case len(first.GPUs) > 1:
		return fmt.Sprintf("%s as GPUs %s", set, indexWords(first.GPUs, index))
	}
	return fmt.Sprintf("%d %s", len(on), set)
}

// unusedWords is the part of a GPU that no combination of sets uses.
func unusedWords(r partitioner.Remainder, uuid string) string {
	i := slices.IndexFunc(r.GPUs, func(g partitioner.GPURemainder) bool { return g.UUID == uuid })
	if i < 0 {
		return ""
	}
	switch g := r.GPUs[i]; {
	case g.Whole:
		return "all of it"
	case g.Blocks > 0:
		return fmt.Sprintf("%d%%", g.Blocks)
	default:
		return fmt.Sprintf("%d compute, %d memory", g.ComputeSlices, g.MemorySlices)
	}
}
