// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writePlan prints a plan for people. Nodes for which all is the same are
// printed once.
func writePlan(p *plan, out *output, w *bytes.Buffer) error {
	fmt.Fprintf(w, "Policy %s, %s (%s)\n", p.Policy, plural(len(p.Nodes), "node"), p.Selector)
	if err := out.tables(w, planSetTable(p)); err != nil {
		return err
	}
	for _, g := range sameNodes(p, out) {
		if g.err != nil {
			return g.err
		}
		fmt.Fprintf(w, "\n%s: %s", nodesTitle(g.names), g.body)
	}
	section(w, "Refused", rejectionLines(p.Refused))
	section(w, "Must be given back before a GPU can be cut anew", waitLines(p))
	section(w, "Keep what they hold until they end", leavingLines(p))
	section(w, "Less than the GPUs could hold", lostLines(p))
	return nil
}

func section(w *bytes.Buffer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, l := range lines {
		fmt.Fprintln(w, "  "+l)
	}
}

func planSetTable(p *plan) *metav1.Table {
	t := columns("Set", "CPU", "Memory", "GPU", "Together", "Alone", "Change")
	for _, s := range p.Sets {
		if s.Size == nil {
			addRow(t, s.Name, "", "", "", "", "", s.Change)
			continue
		}
		addRow(t, s.Name, s.Size.CPU.String(), memory(s.Size.Memory.Value()), gpuWords(s.Size.GPU),
			strconv.Itoa(s.Together), strconv.Itoa(s.Alone), setChange(s))
	}
	return t
}

// setChange says how a set changes, with what was.
func setChange(s plannedSet) string {
	if s.Was == nil {
		return s.Change
	}
	var was []string
	if s.Was.CPU.Cmp(s.Size.CPU) != 0 {
		was = append(was, "cpu "+s.Was.CPU.String())
	}
	if s.Was.Memory.Cmp(s.Size.Memory) != 0 {
		was = append(was, "memory "+memory(s.Was.Memory.Value()))
	}
	if before := gpuWords(s.Was.GPU); before != gpuWords(s.Size.GPU) {
		was = append(was, "gpu "+before)
	}
	if len(was) == 0 {
		return s.Change
	}
	return "was " + strings.Join(was, ", ")
}

// nodeGroup is nodes that are printed the same.
type nodeGroup struct {
	names []string
	body  string
	err   error
}

func sameNodes(p *plan, out *output) []nodeGroup {
	var groups []nodeGroup
	index := map[string]int{}
	for _, n := range p.Nodes {
		body, err := nodeBody(n, out)
		if err != nil {
			return []nodeGroup{{err: err}}
		}
		i, known := index[body]
		if !known {
			i = len(groups)
			index[body] = i
			groups = append(groups, nodeGroup{body: body})
		}
		groups[i].names = append(groups[i].names, n.Name)
	}
	return groups
}

func nodesTitle(names []string) string {
	if len(names) == 1 {
		return "Node " + names[0]
	}
	return "Nodes " + strings.Join(names, ", ")
}

// nodeBody is everything about one node but its name and its holders.
func nodeBody(n plannedNode, out *output) (string, error) {
	if n.Skipped != "" {
		return n.Skipped + "\n", nil
	}
	var b bytes.Buffer
	fmt.Fprint(&b, hostWords(n.Allocatable))
	if n.Reserved != nil {
		fmt.Fprintf(&b, "; reserved %s", hostWords(n.Reserved))
	}
	fmt.Fprintf(&b, "; left over %s\n", hostWords(n.Unused))
	if len(n.GPUs) == 0 {
		fmt.Fprintln(&b, "No GPUs.")
	} else if err := out.rows(planGPUTable(n), &b); err != nil {
		return "", err
	}
	if line := cpuOnly(n); line != "" {
		fmt.Fprintln(&b, line)
	}
	if out.format == formatWide {
		for _, line := range whyLines(n) {
			fmt.Fprintln(&b, "  "+line)
		}
	}
	return b.String(), nil
}

// hostWords is CPU and memory for reading.
func hostWords(h *hostPart) string {
	return fmt.Sprintf("cpu %s, memory %s", h.CPU.String(), memory(h.Memory.Value()))
}

// planGPUTable joins GPUs that are cut alike.
func planGPUTable(n plannedNode) *metav1.Table {
	t := columns("GPU", "Model", "NUMA", "Mode", "Slices", "Unused", "Change")
	var order []string
	indices := map[string][]int{}
	cells := map[string][]string{}
	for _, g := range n.GPUs {
		row := []string{shortModel(g.Model), g.NUMA, g.Mode, g.Slices, orElse(g.Unused, "none"), orElse(g.Change, "none")}
		key := strings.Join(row, "\x00")
		if _, known := cells[key]; !known {
			order = append(order, key)
			cells[key] = row
		}
		indices[key] = append(indices[key], g.Index)
	}
	for _, key := range order {
		addRow(t, append([]string{ranges(indices[key])}, cells[key]...)...)
	}
	return t
}

// cpuOnly names the sets of the node that have no GPU.
func cpuOnly(n plannedNode) string {
	var words []string
	for _, s := range n.Sets {
		if s.CPUOnly && s.Alone > 0 {
			words = append(words, fmt.Sprintf("%d %s", s.Alone, s.Name))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "Beside the GPUs: " + strings.Join(words, ", ")
}

// whyLines explains each GPU, and which sets the node has none of.
func whyLines(n plannedNode) []string {
	var lines []string
	for _, g := range n.GPUs {
		lines = append(lines, fmt.Sprintf("GPU %d (%s)", g.Index, g.UUID))
		for _, l := range g.Why {
			lines = append(lines, "  "+l)
		}
	}
	for _, r := range n.Absent {
		lines = append(lines, "no "+r.Set+": "+r.Message)
	}
	return lines
}

func waitLines(p *plan) []string {
	var lines []string
	for _, n := range p.Nodes {
		for _, g := range n.GPUs {
			for _, h := range g.Waits {
				lines = append(lines, fmt.Sprintf("node %s, GPU %d: %s holds %s (%s)", n.Name, g.Index, h.Holder, h.Set, h.Part))
			}
		}
	}
	return lines
}

func leavingLines(p *plan) []string {
	var lines []string
	for _, n := range p.Nodes {
		for _, h := range n.Leaving {
			lines = append(lines, fmt.Sprintf("node %s: %s holds %s (%s)", n.Name, h.Holder, h.Set, h.Part))
		}
	}
	return lines
}

func lostLines(p *plan) []string {
	var lines []string
	for _, n := range p.Nodes {
		for _, s := range n.Sets {
			if s.Lost > 0 {
				lines = append(lines, fmt.Sprintf("node %s: %d more %s, if it had the CPU and memory for them", n.Name, s.Lost, s.Name))
			}
		}
	}
	return lines
}
