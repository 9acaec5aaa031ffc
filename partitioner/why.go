// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// whyNone says why a node offers none of a set, and whether that is a fault of
// the policy or simply what its rules say.
func (p *plan) whyNone(part int, spec api.PartitionPolicySpec) (r api.Rejection, fault bool) {
	pt := p.parts[part]
	r = api.Rejection{Set: pt.name, Node: p.node.Name, Reason: api.ReasonSetDoesNotFit}
	switch {
	case pt.unsized && (pt.kind == gpu.KindCPU || len(p.seats[part]) > 0):
		r.Reason = api.ReasonPending
		r.Message = fmt.Sprintf("%s: the cluster has no size for set %q yet, or refused it; see the policy's conditions and rejections", pt.field(""), pt.name)
		return r, false
	case pt.kind == gpu.KindCPU && !pt.size.fits(p.allRoom()):
		r.Message = fmt.Sprintf("%s: cpu %s and memory %s is more than node %s has (cpu %s, memory %s); lower it",
			pt.field(""), cores(pt.size.cpu), bytesOf(pt.size.mem), p.node.Name, cores(p.allRoom().cpu), bytesOf(p.allRoom().mem))
		return r, true
	case pt.kind == gpu.KindCPU:
		r.Message = fmt.Sprintf("%s: cpu %s and memory %s is more than what the GPU sets leave (%s); give perNode to set some aside, or make the set smaller",
			pt.field(""), cores(pt.size.cpu), bytesOf(pt.size.mem), p.describeSpare())
		return r, false
	case p.lost[part] > 0:
		r.Message = p.tooLarge(part)
		return r, true
	case p.countMode(modeFor(pt.kind)) == 0:
		r.Reason = api.ReasonNoMatchingGPU
		r.Message = pt.field("gpu") + ": " + whyNoMode(spec, modeFor(pt.kind), p.node)
		return r, false
	case pt.kind == gpu.KindBlock:
		r.Message = fmt.Sprintf("%s: %s is more than any Block GPU of node %s has (%s); lower it",
			pt.field("gpu.memory"), bytesOf(pt.gpu.Memory.Value()), p.node.Name, roughly(p.largestMemory(gpu.ModeBlock)))
		return r, true
	case pt.kind == gpu.KindWhole:
		r.Message = fmt.Sprintf("%s: %d is more than the whole GPUs of one model on node %s; at most %d, lower it or give more GPUs mode Whole",
			pt.field("gpu.count"), *pt.gpu.Count, p.node.Name, p.mostOfOneModel())
		return r, true
	}
	return p.whyNoInstance(part, spec, r)
}

// whyNoInstance is whyNone for a MIG set on a node with MIG GPUs. It looks for
// the GPU that comes nearest to having the set.
func (p *plan) whyNoInstance(part int, spec api.PartitionPolicySpec, r api.Rejection) (api.Rejection, bool) {
	pt := p.parts[part]
	path := pt.field("gpu.mig")
	fault := true
	for _, c := range p.cuts {
		if c.mode != gpu.ModeMIG || r.Reason == api.ReasonNotInLayout && fault {
			continue
		}
		switch twin, isTwin := c.twin(part); {
		case isTwin:
			r.Message = fmt.Sprintf("%s: on %s this is the same instance as set %q; keep one of the two sets or change mig.memory",
				path, c.gpu.Model, p.parts[twin].name)
			return r, true
		case c.model != nil && len(c.model.options) == 0:
			// The GPU's own rejection has the sizes that it offers.
			r.Reason = api.ReasonLayoutDoesNotFit
			r.Message = fmt.Sprintf("%s: %s is no instance of %s; the rejection of spec.gpus[%d].mode lists what it offers",
				path, migSizeText(*pt.gpu.MIG), c.gpu.Model, c.rule)
		case c.refusal != "":
			r.Reason, r.Message = api.ReasonLayoutDoesNotFit, path+": "+c.refusal
		case c.model.optionOf(pt.name, p.parts) < 0:
			r.Message = fmt.Sprintf("%s: %s is no instance of %s, which offers %s; give computeSlices and memory of one of these",
				path, migSizeText(*pt.gpu.MIG), c.gpu.Model, offered(c.model.profiles))
		case len(spec.GPUs[c.rule].Layout) > 0:
			r.Reason, fault = api.ReasonNotInLayout, false
			r.Message = fmt.Sprintf("%s: no layout in spec.gpus that applies to node %s names this set", path, p.node.Name)
		default:
			r.Reason, fault = api.ReasonNotInLayout, true
			r.Message = fmt.Sprintf("%s: the fullest mixture of the policy's MIG sets on %s is %s; to have this set, name it in spec.gpus[%d].layout",
				path, c.gpu.Model, c.model.describeBest(p.parts), c.rule)
		}
	}
	return r, fault
}

// twin is the set whose instances a set would share on this GPU.
func (c cut) twin(part int) (int, bool) {
	if c.model == nil {
		return 0, false
	}
	twin, ok := c.model.twins[part]
	return twin, ok
}

// tooLarge says which of cpu and memory is short for a set, and what is
// allowed.
func (p *plan) tooLarge(part int) string {
	pt := p.parts[part]
	var best zone
	var room, even amount
	for _, st := range p.seats[part] {
		var have amount
		for _, d := range p.draws(pt.size, st) {
			have = have.plus(p.room[d.zone])
		}
		even = even.max(rounded(p.entitlement(st)))
		if best.name == "" || have.cpu > room.cpu {
			best, room = p.zones[p.cuts[st.cuts[0]].zone], have
		}
	}
	if problem := p.tooSmall(pt); problem != "" {
		return problem
	}
	name, value, most, share, own := "cpu", cores(pt.size.cpu), cores(room.cpu), cores(even.cpu), pt.ownCPU
	if pt.size.cpu <= room.cpu {
		if problem := p.tooSmall(pt); problem != "" {
			return problem
		}
		name, value, most, share, own = "memory", bytesOf(pt.size.mem), bytesOf(room.mem), bytesOf(even.mem), pt.ownMemory
	}
	hint := "lower it, or leave it out to get the even share"
	if !own {
		hint = "the size comes from other nodes; give the set an explicit size or the node a pool of its own"
	}
	return fmt.Sprintf("%s: %s is more than %s of node %s has for GPU sets (%s, even share %s); %s",
		pt.field(name), value, best.title(), p.node.Name, most, share, hint)
}

// tooSmall says that even division gives a set nothing, if so.
func (p *plan) tooSmall(pt part) string {
	name, least := "cpu", cores(cpuStep)
	switch {
	case pt.size.cpu > 0 && pt.size.mem > 0:
		return ""
	case pt.size.cpu > 0:
		name, least = "memory", bytesOf(mebibyte)
	}
	return fmt.Sprintf("%s: the even share of node %s rounds to nothing (a set has at least %s); lower spec.reserve, make the set's GPU part larger, or give %s",
		pt.field(name), p.node.Name, least, name)
}

func (p *plan) allRoom() amount {
	var all amount
	for _, r := range p.room {
		all = all.plus(r)
	}
	return all
}

func (p *plan) countMode(m gpu.Mode) int {
	n := 0
	for _, c := range p.cuts {
		if c.mode == m {
			n++
		}
	}
	return n
}

func (p *plan) largestMemory(m gpu.Mode) int64 {
	var most int64
	for _, c := range p.cuts {
		if c.mode == m {
			most = max(most, c.gpu.MemoryBytes)
		}
	}
	return most
}

func (p *plan) mostOfOneModel() int {
	most, count := 0, map[string]int{}
	for _, c := range p.cuts {
		if c.mode == gpu.ModeWhole {
			count[c.gpu.Model]++
			most = max(most, count[c.gpu.Model])
		}
	}
	return most
}

func (p *plan) describeSpare() string {
	var left amount
	for _, s := range p.spare {
		left = left.plus(s)
	}
	return fmt.Sprintf("cpu %s, memory %s on node %s", cores(left.cpu), bytesOf(left.mem), p.node.Name)
}

func migSizeText(m api.MIGSize) string {
	text := fmt.Sprintf("computeSlices %d", m.ComputeSlices)
	if m.Memory != nil {
		text += ", memory " + m.Memory.String()
	}
	if m.MediaExtensions {
		text += ", mediaExtensions"
	}
	return text
}
