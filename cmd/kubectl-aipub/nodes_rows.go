// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// nodeTable has a row for each GPU, one for the CPU-only sets of a node that
// has some, and one for a node of which nothing else is known.
func nodeTable(views []nodeView) *metav1.Table {
	t := columns("Node", "Status", "Policy", "Driver", "GPU", "Model", "Mode", "NUMA", "Health", "Free/Total")
	for _, v := range views {
		if v.partition == nil {
			addRow(t, v.name, v.verdict.word(), policyNames(v), "", "", "", "", "", "", "")
			continue
		}
		s := v.partition.Status
		head := []string{v.name, v.verdict.word(), s.Policy, s.DriverVersion}
		rows := gpuRows(s)
		if len(rows) == 0 {
			rows = [][]string{{"", "", "", "", "", ""}}
		}
		for _, r := range rows {
			r[1] = shortModel(r[1])
			addRow(t, append(slices.Clone(head), r...)...)
		}
	}
	return t
}

// shortModel leaves the maker out of a product name, where a table must be narrow.
func shortModel(name string) string { return strings.TrimPrefix(name, "NVIDIA ") }

// gpuTable is the GPUs of one node.
func gpuTable(s api.NodePartitionStatus) *metav1.Table {
	t := columns("GPU", "Model", "Mode", "NUMA", "Health", "Fences", "Free/Total")
	gpus := sortedGPUs(s)
	for i, r := range gpuRows(s) {
		fences := ""
		if i < len(gpus) { // after them come the CPU-only sets
			fences = fenceWords(gpus[i].Fences)
		}
		addRow(t, slices.Insert(r, len(r)-1, fences)...)
	}
	return t
}

// fenceWords is "CgroupMemory, Limiter".
func fenceWords(fences []api.Fence) string {
	var words []string
	for _, f := range fences {
		words = append(words, string(f))
	}
	return strings.Join(words, ", ")
}

// gpuRows are index, model, mode, NUMA node, health and counts of each GPU, and
// last the CPU-only sets.
func gpuRows(s api.NodePartitionStatus) [][]string {
	var rows [][]string
	for _, g := range sortedGPUs(s) {
		on := func(sl api.NodeSlice) bool { return slices.Contains(sl.GPUs, g.UUID) }
		rows = append(rows, []string{
			strconv.Itoa(int(g.Index)), g.Model, modeWords(g), numaWords(g.NUMANode), healthWords(g.Health), countWords(s.Slices, on),
		})
	}
	cpuOnly := func(sl api.NodeSlice) bool { return len(sl.GPUs) == 0 }
	if slices.ContainsFunc(s.Slices, cpuOnly) {
		rows = append(rows, []string{"", "", "CPU", "", "", countWords(s.Slices, cpuOnly)})
	}
	return rows
}

// countWords is "small 3/4, medium 1/2": free and total slices of each set that
// pass the filter. A set of which a container still holds more than there is to
// be says so.
func countWords(all []api.NodeSlice, filter func(api.NodeSlice) bool) string {
	type count struct{ free, total, leaving int }
	counts := map[string]*count{}
	var order []string
	for _, s := range all {
		if !filter(s) {
			continue
		}
		c := counts[s.Set]
		if c == nil {
			c = &count{}
			counts[s.Set] = c
			order = append(order, s.Set)
		}
		switch gpu.State(s.State) {
		case gpu.StateRetired:
			c.leaving++
		case gpu.StateFree:
			c.free++
			c.total++
		default:
			c.total++
		}
	}
	words := make([]string, len(order))
	for i, set := range order {
		c := counts[set]
		words[i] = fmt.Sprintf("%s %d/%d", set, c.free, c.total)
		if c.leaving > 0 {
			words[i] += fmt.Sprintf(" (%d leaving)", c.leaving)
		}
	}
	return strings.Join(words, ", ")
}

// sliceTable has a row for each slice. The last column says who holds it, or
// why it cannot be taken.
func sliceTable(views []nodeView, withNode bool, now time.Time) *metav1.Table {
	names := []string{"Slice", "Set", "GPU", "Part", "State", "Since", "Holder or reason"}
	if withNode {
		names = append([]string{"Node"}, names...)
	}
	t := columns(names...)
	for _, v := range views {
		if v.partition == nil {
			continue
		}
		index := gpuIndices(v.partition.Status)
		for _, s := range byGPU(v.partition.Status.Slices, index) {
			row := []string{s.ID, s.Set, indexWords(s.GPUs, index), sliceWords(s), string(s.State), age(s.Since, now), whyWords(s)}
			if withNode {
				row = append([]string{v.name}, row...)
			}
			addRow(t, row...)
		}
	}
	return t
}

// whyWords is the holder, the reason for a state that needs one, or both.
func whyWords(s api.NodeSlice) string {
	holder := holderWords(s.Holder)
	reason := s.Reason
	if s.Message != "" {
		reason += ": " + s.Message
	}
	switch {
	case holder == "" && isHeld(s):
		holder = "a container that is starting"
	case holder == "":
		return reason
	}
	if reason == "" {
		return holder
	}
	return holder + " (" + reason + ")"
}

// byGPU orders slices by their first GPU, those without one last, and keeps the
// order of those on the same.
func byGPU(all []api.NodeSlice, index map[string]int) []api.NodeSlice {
	rank := func(s api.NodeSlice) int {
		if len(s.GPUs) > 0 {
			if i, ok := index[s.GPUs[0]]; ok {
				return i
			}
		}
		return len(index)
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b api.NodeSlice) int { return rank(a) - rank(b) })
	return sorted
}

func sortedGPUs(s api.NodePartitionStatus) []api.NodeGPU {
	return slices.SortedFunc(slices.Values(s.GPUs), func(a, b api.NodeGPU) int { return int(a.Index) - int(b.Index) })
}

func gpuIndices(s api.NodePartitionStatus) map[string]int {
	index := make(map[string]int, len(s.GPUs))
	for _, g := range s.GPUs {
		index[g.UUID] = int(g.Index)
	}
	return index
}

// indexWords names GPUs by index; one that the node does not list any more by
// its UUID.
func indexWords(uuids []string, index map[string]int) string {
	var known []int
	var rest []string
	for _, u := range uuids {
		if i, ok := index[u]; ok {
			known = append(known, i)
		} else {
			rest = append(rest, u)
		}
	}
	if len(known) > 0 {
		rest = append([]string{ranges(known)}, rest...)
	}
	return strings.Join(rest, ",")
}

func policyNames(v nodeView) string {
	names := make([]string, len(v.policies))
	for i, p := range v.policies {
		names[i] = p.Name
	}
	return strings.Join(names, ",")
}

// age is how long ago something was, as kubectl prints it.
func age(t metav1.Time, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(t.Time), 0))
}
