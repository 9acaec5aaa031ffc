// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// part is one set as division sees it: its GPU part and what is known of its
// size.
type part struct {
	name    string
	index   int // in spec.sets
	kind    gpu.Kind
	gpu     *api.SetGPU
	sharing *api.Sharing
	perNode int // of a CPU-only set; 0 for as many as fit
	size    amount
	// unsized is true while the cluster has no size for the set; it has its place
	// in the layout, but no slices yet.
	unsized bool
	// ownCPU and ownMemory say that the policy gives this part of the size.
	ownCPU, ownMemory bool
}

// field is the path of one of the set's fields, for messages.
func (p part) field(name string) string {
	if name == "" {
		return fmt.Sprintf("spec.sets[%d]", p.index)
	}
	return fmt.Sprintf("spec.sets[%d].%s", p.index, name)
}

// partsOf reads the policy's sets. Sets whose name or GPU part cannot be used,
// or whose name was there before, are left out and reported.
func partsOf(spec api.PartitionPolicySpec) ([]part, []api.Rejection) {
	var parts []part
	var bad []api.Rejection
	seen := map[string]bool{}
	for i, t := range spec.Sets {
		p := part{name: t.Name, index: i, gpu: t.GPU, sharing: t.Sharing}
		problem := p.read(t)
		if seen[t.Name] {
			problem = fmt.Sprintf("%s: %q is the name of an earlier set; give each set its own", p.field("name"), t.Name)
		}
		if problem != "" {
			bad = append(bad, api.Rejection{Set: t.Name, Reason: api.ReasonInvalidPolicy, Message: problem})
			continue
		}
		seen[t.Name] = true
		parts = append(parts, p)
	}
	return parts, bad
}

// read fills in kind and size, and returns what is wrong with them.
func (p *part) read(t api.SetTemplate) (problem string) {
	if !validSetName(t.Name) {
		return fmt.Sprintf("%s: %q must be 1 to %d lower-case letters, digits and '-'", p.field("name"), t.Name, maxSetName)
	}
	if t.CPU != nil {
		p.size.cpu, p.ownCPU = t.CPU.MilliValue(), true
	}
	if t.Memory != nil {
		p.size.mem, p.ownMemory = t.Memory.Value(), true
	}
	if p.size != p.size.atLeastZero() {
		return fmt.Sprintf("%s: cpu and memory must be above 0", p.field(""))
	}
	if t.PerNode != nil {
		p.perNode = min(max(int(*t.PerNode), 0), maxPerNode)
	}
	var ok bool
	if p.kind, ok = kindOf(t.GPU); !ok {
		return fmt.Sprintf("%s: give exactly one of count (1 or more), blockPercent (1 to 100) and mig", p.field("gpu"))
	}
	if p.kind == gpu.KindCPU && (p.size.cpu <= 0 || p.size.mem <= 0) {
		return fmt.Sprintf("%s: a set without gpu must give both cpu and memory, above 0", p.field(""))
	}
	return ""
}

// maxPerNode bounds CPU-only sets on one node, as the API does.
const maxPerNode = 1000

// kindOf tells the kinds of GPU part apart; it reports false for one that is
// none of them or several at once.
func kindOf(g *api.SetGPU) (gpu.Kind, bool) {
	switch {
	case g == nil:
		return gpu.KindCPU, true
	case g.Count != nil && g.BlockPercent == nil && g.MIG == nil:
		return gpu.KindWhole, *g.Count >= 1
	case g.BlockPercent != nil && g.Count == nil && g.MIG == nil:
		p := *g.BlockPercent
		return gpu.KindBlock, p >= 1 && p <= gpu.BlocksPerGPU && (g.Memory == nil || g.Memory.Value() > 0)
	case g.MIG != nil && g.Count == nil && g.BlockPercent == nil:
		return gpu.KindMIG, g.MIG.ComputeSlices >= 1 && (g.MIG.Memory == nil || g.MIG.Memory.Value() > 0)
	}
	return "", false
}

// modeFor is the GPU mode that a kind of slice needs.
func modeFor(k gpu.Kind) gpu.Mode {
	switch k {
	case gpu.KindBlock:
		return gpu.ModeBlock
	case gpu.KindMIG:
		return gpu.ModeMIG
	}
	return gpu.ModeWhole
}
