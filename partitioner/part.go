// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

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
// none of them, several at once, or out of range.
func kindOf(g *api.SetGPU) (gpu.Kind, bool) {
	if g == nil {
		return gpu.KindCPU, true
	}
	var kind gpu.Kind
	given, inRange := 0, true
	if g.Count != nil {
		given, kind, inRange = given+1, gpu.KindWhole, *g.Count >= 1
	}
	if p := g.BlockPercent; p != nil {
		given, kind, inRange = given+1, gpu.KindBlock, *p >= 1 && *p <= gpu.BlocksPerGPU && aboveZero(g.Memory)
	}
	if g.MIG != nil {
		given, kind, inRange = given+1, gpu.KindMIG, g.MIG.ComputeSlices >= 1 && aboveZero(g.MIG.Memory)
	}
	return kind, given == 1 && inRange
}

// aboveZero reports whether a quantity is absent or above 0.
func aboveZero(q *resource.Quantity) bool { return q == nil || q.Value() > 0 }

// modeFor is the GPU mode that a kind of slice needs.
func modeFor(k gpu.Kind) gpu.Mode {
	switch k {
	case gpu.KindBlock:
		return gpu.ModeBlock
	case gpu.KindMIG:
		return gpu.ModeMIG
	case gpu.KindWhole, gpu.KindCPU:
	}
	return gpu.ModeWhole
}
