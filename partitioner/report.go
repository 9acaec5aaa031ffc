// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Report explains one node's layout.
type Report struct {
	Node string
	// Sets are in the policy's order; those that the node offers none of have
	// zero counts.
	Sets []SetReport
	// Remainder is what is left when the GPU sets use the most that they can
	// and the CPU-only sets are full.
	Remainder Remainder
	// Rejections are what the policy asks of this node and cannot have.
	Rejections []api.Rejection
	// Absent are sets that have no place on this node by the policy's own
	// rules, for example a block set where no GPU is in Block mode. That is no
	// fault.
	Absent []api.Rejection
	// Zones are the parts that CPU and memory are divided by.
	Zones []ZoneReport
	// GPUs are ordered by index. Divide leaves them out.
	GPUs []GPUReport
}

// SetReport counts one set on one node.
type SetReport struct {
	Name string
	// Alone is how many can be held while no other set is: the number of its
	// slices.
	Alone int
	// Together is how many can be held beside the others when all sets take one
	// in turn until nothing more fits.
	Together int
	// Lost is how many more the GPUs could hold if the node had the CPU and
	// memory for them.
	Lost int
}

// Remainder is what a node cannot hand out.
type Remainder struct {
	CPUMilli, MemoryBytes int64
	// GPUs has an entry for each GPU of which a part is never used.
	GPUs []GPURemainder
}

// GPURemainder is the part of one GPU that no combination of the sets uses.
type GPURemainder struct {
	UUID string
	Mode gpu.Mode
	// Blocks of 100 in Block mode; Compute and Memory slices in MIG mode, where
	// the layout leaves them out; Whole if no set uses the GPU at all.
	Blocks, ComputeSlices, MemorySlices int
	Whole                               bool
}

// ZoneReport is the CPU and memory of one zone.
type ZoneReport struct {
	// Name is "numaN", or "node" where the node is divided as one.
	Name string
	// CPUMilli and MemoryBytes are what GPU sets may use, SpareCPUMilli and
	// SpareMemoryBytes what remains of it for CPU-only sets without perNode.
	CPUMilli, MemoryBytes           int64
	SpareCPUMilli, SpareMemoryBytes int64
	// GPUs is how many GPUs share it.
	GPUs int
}

// GPUReport explains one GPU.
type GPUReport struct {
	Index       int
	UUID, Model string
	// Mode is empty where the rule cannot be carried out.
	Mode gpu.Mode
	// Rule is the index in spec.gpus, or -1 for the default.
	Rule int
	// Lines are sentences for people.
	Lines []string
}

// report sums up a plan, without the explanation of each GPU.
func (p *plan) report(spec api.PartitionPolicySpec) Report {
	r := Report{Node: p.node.Name, Rejections: p.rejections}
	together := p.together()
	alone := p.alone()
	for i, pt := range p.parts {
		r.Sets = append(r.Sets, SetReport{Name: pt.name, Alone: alone[i], Together: together[i], Lost: p.lost[i]})
		if alone[i] > 0 || pt.perNode > 0 && !pt.unsized {
			continue
		}
		rejection, fault := p.whyNone(i, spec)
		if fault {
			r.Rejections = append(r.Rejections, rejection)
		} else {
			r.Absent = append(r.Absent, rejection)
		}
	}
	r.Remainder = p.remainder()
	for z, zone := range p.zones {
		r.Zones = append(r.Zones, ZoneReport{
			Name: zone.name, CPUMilli: p.room[z].cpu, MemoryBytes: p.room[z].mem,
			SpareCPUMilli: p.spare[z].cpu, SpareMemoryBytes: p.spare[z].mem, GPUs: p.gpus[z],
		})
	}
	return r
}

// alone counts the slices of each part.
func (p *plan) alone() []int {
	n := make([]int, len(p.parts))
	for _, k := range p.kept {
		n[k.part]++
	}
	for _, u := range p.aside {
		n[u.part]++
	}
	for _, u := range p.loose {
		n[u.part]++
	}
	return n
}
