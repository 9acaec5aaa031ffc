// SPDX-License-Identifier: Apache-2.0

package choice

import (
	"cmp"
	"slices"
)

// cost compares candidates: the fields decide in this order, less is better.
type cost struct {
	unfit  int   // 1 when it cannot be taken now, as the kubelet may not know yet
	lost   int64 // what other sets lose, in millionths of a GPU
	unused int64 // what stays free of its GPUs, in millionths
	far    int   // 0 near or fitting, 1 not
	spare  int   // what its NUMA node keeps beyond what is asked for
	gap    int   // distance in the layout's order
}

func (c cost) less(d cost) bool {
	return cmp.Or(
		cmp.Compare(c.unfit, d.unfit), cmp.Compare(c.lost, d.lost), cmp.Compare(c.unused, d.unused), cmp.Compare(c.far, d.far),
		cmp.Compare(c.spare, d.spare), cmp.Compare(c.gap, d.gap)) < 0
}

// cost of taking the slice at position i next.
func (p *pick) cost(i int) cost {
	s := &p.slices[i]
	c := cost{lost: p.loss.of(p.state, i), unused: p.unused(s), unfit: 1}
	if p.fits(i) {
		c.unfit = 0
	}
	if len(p.chosen) == 0 {
		c.far, c.spare = p.room(s)
		return c
	}
	c.far, c.gap = 1, len(p.slices)
	for _, j := range p.chosen {
		if slices.Equal(p.slices[j].numa, s.numa) {
			c.far = 0
		}
		c.gap = min(c.gap, max(i-j, j-i))
	}
	return c
}

// fits reports whether the slice at position i can be taken now.
func (p *pick) fits(i int) bool {
	switch p.state.Marks[i] {
	case Taken:
		return true
	case Open:
		return p.Fits(i, p.state.Left)
	default:
		return false
	}
}

// room judges the NUMA node of the first of several slices.
func (p *pick) room(s *slice) (far, spare int) {
	if len(s.numa) != 1 || p.n == 1 {
		return 0, 0
	}
	if spare = p.perNUMA[s.numa[0]] - p.n; spare < 0 {
		return 1, 0
	}
	return 0, spare
}

// unused is how much of its GPUs is free, by the most used counter of each.
func (p *pick) unused(s *slice) (sum int64) {
	for _, g := range s.gpus {
		least := int64(perGPU)
		for _, c := range p.own[g] {
			if total := p.totals[c]; total > 0 {
				least = min(least, p.state.Left[c]*perGPU/total)
			}
		}
		sum += least
	}
	return sum
}
