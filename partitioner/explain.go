// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// explainGPUs says of each GPU what it becomes and why.
func (p *plan) explainGPUs(spec api.PartitionPolicySpec) []GPUReport {
	seated := p.seated()
	out := make([]GPUReport, len(p.cuts))
	for i, c := range p.cuts {
		out[i] = GPUReport{Index: c.gpu.Index, UUID: c.gpu.UUID, Model: c.gpu.Model, Mode: c.mode, Rule: c.rule}
		if c.refusal != "" {
			out[i].Mode = ""
			out[i].Lines = []string{"left as it is: " + c.refusal}
			continue
		}
		out[i].Lines = p.explainGPU(spec, i, seated[i])
	}
	return out
}

func (p *plan) explainGPU(spec api.PartitionPolicySpec, cut int, on []*keptSeat) []string {
	c := p.cuts[cut]
	lines := []string{fmt.Sprintf("mode %s by %s", c.mode, ruleName(c.rule))}
	if len(on) == 0 {
		return append(lines, "no set uses it")
	}
	if c.mode == gpu.ModeMIG {
		why := "the fullest, then most even mixture of the policy's MIG sets"
		if c.rule >= 0 && len(spec.GPUs[c.rule].Layout) > 0 {
			why = fmt.Sprintf("fixed by spec.gpus[%d].layout", c.rule)
		}
		lines = append(lines, "layout: "+why)
	}
	share := p.shares[cut]
	lines = append(lines, fmt.Sprintf("even share: cpu %s, memory %s of %s", cores(share.cpu), bytesOf(roundMemory(share.mem)), p.zones[c.zone].title()))
	for i := range p.parts {
		if line := p.explainSet(i, on); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// explainSet says how many slices of a set a GPU has, and where.
func (p *plan) explainSet(part int, on []*keptSeat) string {
	pt, n := p.parts[part], 0
	var places []string
	var last *keptSeat
	for _, k := range on {
		if k.part != part {
			continue
		}
		n, last = n+1, k
		if k.target != nil {
			places = append(places, fmt.Sprintf("%d:%d", k.target.Placement.Start, k.target.Placement.Size))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d × %s: %s, cpu %s, memory %s", n, pt.name,
		p.gpuText(pt, last, places), cores(pt.size.cpu), bytesOf(pt.size.mem))
}

// gpuText describes the GPU part of a set's slices.
func (p *plan) gpuText(pt part, k *keptSeat, places []string) string {
	switch pt.kind {
	case gpu.KindMIG:
		return fmt.Sprintf("%s at %s", k.target.Profile.Name, strings.Join(places, " "))
	case gpu.KindBlock:
		return fmt.Sprintf("%d%% with %s of device memory", k.num, bytesOf(k.memory))
	case gpu.KindWhole, gpu.KindCPU:
	}
	if len(k.cuts) == 1 {
		return "whole GPU"
	}
	var indices []string
	for _, c := range k.cuts {
		indices = append(indices, fmt.Sprint(p.cuts[c].gpu.Index))
	}
	return "whole, with GPUs " + strings.Join(indices, " ")
}

func ruleName(rule int) string {
	if rule == noRule {
		return "default, as no rule in spec.gpus matches"
	}
	return fmt.Sprintf("spec.gpus[%d]", rule)
}

// describeBest prints the layout that the model's GPUs get without a fixed one.
func (m *migModel) describeBest(parts []part) string {
	counts := make([]int, len(m.options))
	for _, in := range m.layouts[noRule].placed {
		counts[in.option]++
	}
	return m.describe(counts, parts)
}
