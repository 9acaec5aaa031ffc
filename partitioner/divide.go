// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"fmt"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Division is what one policy makes of all its nodes together.
type Division struct {
	// Sets are the sizes that hold in the cluster, in the policy's order. A set
	// that no node can hold is missing and is in Rejections.
	Sets []Set
	// Nodes are ordered by name.
	Nodes []NodeDivision
	// Rejections are sets that exist nowhere, and why. What single nodes lack is
	// in their reports.
	Rejections []api.Rejection
}

// NodeDivision is one node's part in a division.
type NodeDivision struct {
	Name   string
	Report Report
}

// Set returns the size of a set.
func (d Division) Set(name string) (Set, bool) {
	i := slices.IndexFunc(d.Sets, func(s Set) bool { return s.Name == name })
	if i < 0 {
		return Set{}, false
	}
	return d.Sets[i], true
}

// Divide works out how much CPU and memory one of each set of a policy is, by
// even division over the nodes that the policy selects (see the package
// comment), and what each node makes of it. Without nodes no set has a size.
//
// A node that is too small for a set, so that its even share rounds to nothing,
// does not pull the set down to nothing: it offers none of it, and says so.
func Divide(spec api.PartitionPolicySpec, nodes []Node) Division {
	parts, bad := partsOf(spec)
	d := Division{Rejections: bad}
	if len(nodes) == 0 {
		return d
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	sv := newSurveyor(spec, parts)
	sites := make([]*site, len(nodes))
	for i, n := range nodes {
		sites[i] = sv.survey(n)
	}
	sizes, units := sizesOf(sites, parts), unitsOf(sites, parts)
	total := make([]int, len(parts))
	for _, s := range sites {
		p := planOn(s, sizes)
		for i, n := range p.alone() {
			total[i] += n
		}
		d.Nodes = append(d.Nodes, NodeDivision{s.node.Name, p.report(spec)})
	}
	for i, p := range sizes {
		if total[i] == 0 && !mayComeLater(p, d.Nodes) {
			d.Rejections = append(d.Rejections, nowhere(p, d.Nodes))
			continue
		}
		d.Sets = append(d.Sets, Set{Name: p.name, CPUMilli: p.size.cpu, MemoryBytes: p.size.mem, GPU: p.gpu, GPUUnits: units[i], Sharing: p.sharing})
	}
	return d
}

// sizesOf fills in what the policy leaves to even division: the least that any
// place gives, of those that give anything.
func sizesOf(sites []*site, parts []part) []part {
	sizes := slices.Clone(parts)
	found := make([]bool, len(parts))
	for _, s := range sites {
		for _, st := range slices.Concat(s.seats...) {
			p := &sizes[st.part]
			e := rounded(s.entitlement(st))
			if !p.ownCPU && e.cpu == 0 || !p.ownMemory && e.mem == 0 {
				continue
			}
			if !p.ownCPU && (!found[st.part] || e.cpu < p.size.cpu) {
				p.size.cpu = e.cpu
			}
			if !p.ownMemory && (!found[st.part] || e.mem < p.size.mem) {
				p.size.mem = e.mem
			}
			found[st.part] = true
		}
	}
	return sizes
}

// mayComeLater reports whether a CPU-only set is absent only because the GPU
// sets leave nothing, which other nodes or policies can change.
func mayComeLater(p part, nodes []NodeDivision) bool {
	return p.kind == gpu.KindCPU && slices.ContainsFunc(nodes, func(n NodeDivision) bool {
		return slices.ContainsFunc(n.Report.Absent, func(r api.Rejection) bool { return r.Set == p.name })
	})
}

// Faults are all rejections: the sets that exist nowhere, then what single
// nodes cannot have, without repeating the former.
func (d Division) Faults() []api.Rejection {
	all := slices.Clone(d.Rejections)
	for _, n := range d.Nodes {
		for _, r := range n.Report.Rejections {
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}

// nowhere is the rejection of a set that no node holds: the first node's fault
// if there is one, else what the first node says.
func nowhere(p part, nodes []NodeDivision) api.Rejection {
	mine := func(r api.Rejection) bool { return r.Set == p.name }
	for _, n := range nodes {
		if i := slices.IndexFunc(n.Report.Rejections, mine); i >= 0 {
			return n.Report.Rejections[i]
		}
	}
	for _, n := range nodes {
		if i := slices.IndexFunc(n.Report.Absent, mine); i >= 0 {
			r := n.Report.Absent[i]
			if len(nodes) > 1 {
				r.Message += fmt.Sprintf(" (the same on all %d nodes)", len(nodes))
			}
			return r
		}
	}
	return api.Rejection{Set: p.name, Reason: api.ReasonSetDoesNotFit, Message: p.field("") + ": no node can hold it"}
}
