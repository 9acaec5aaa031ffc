// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"cmp"
	"maps"
	"slices"

	"aipub.io/aipub/gpu"
)

// perGPU is the scale in which shares of a GPU are compared.
const perGPU = 1_000_000

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

// cost of taking the slice at position i next; lost is its loss.
func (p *preference) cost(i int, lost int64) cost {
	sl := p.all[i].Slice
	c := cost{lost: lost, unused: p.unused(sl), unfit: 1}
	if p.fits(i) {
		c.unfit = 0
	}
	if len(p.chosen) == 0 {
		c.far, c.spare = p.room(sl)
		return c
	}
	c.far, c.gap = 1, len(p.all)
	for _, j := range p.chosen {
		if slices.Equal(p.all[j].Slice.NUMANodes, sl.NUMANodes) {
			c.far = 0
		}
		c.gap = min(c.gap, max(i-j, j-i))
	}
	return c
}

// fits reports whether the slice at position i can be taken now.
func (p *preference) fits(i int) bool {
	st := &p.all[i]
	if p.taken[i] {
		return st.Available()
	}
	_, ok := st.Slice.Fits(p.left)
	return ok && st.Health.OK && st.State != gpu.StatePreparing
}

// room judges the NUMA node of the first of several slices.
func (p *preference) room(sl gpu.Slice) (far, spare int) {
	if len(sl.NUMANodes) != 1 || p.n == 1 {
		return 0, 0
	}
	if spare = p.perNUMA[sl.NUMANodes[0]] - p.n; spare < 0 {
		return 1, 0
	}
	return 0, spare
}

// unused is how much of its GPUs is free, by the most used counter of each.
func (p *preference) unused(sl gpu.Slice) (sum int64) {
	for _, uuid := range sl.GPUs {
		least := int64(perGPU)
		for _, c := range p.ownedBy[uuid] {
			if total := p.totals[c]; total > 0 {
				least = min(least, p.left[c]*perGPU/total)
			}
		}
		sum += least
	}
	return sum
}

// loss is what the other sets on the same GPUs can no longer take once the slice
// at position i is taken.
func (p *preference) loss(i int) (lost int64) {
	sl := p.all[i].Slice
	if p.taken[i] {
		return 0
	}
	beside := p.beside(sl)
	if len(beside) == 0 {
		return 0
	}
	after := maps.Clone(p.left)
	subtract(after, sl)
	return p.takeable(beside, p.left) - p.takeable(beside, after)
}

// beside is the slices of other sets on a slice's GPUs that could be given away
// if they fit.
func (p *preference) beside(sl gpu.Slice) (found []int) {
	for _, uuid := range sl.GPUs {
		for _, j := range p.onGPU[uuid] {
			st := &p.all[j]
			usable := st.State == gpu.StateFree || st.State == gpu.StateBlocked
			if usable && st.Slice.Set != sl.Set && !p.taken[j] && !slices.Contains(found, j) {
				found = append(found, j)
			}
		}
	}
	return found
}

// takeable is the sum over the sets of what each could take by itself, in
// millionths of a GPU.
func (p *preference) takeable(of []int, left map[gpu.Counter]int64) (sum int64) {
	perSet := map[string]map[gpu.Counter]int64{}
	for _, j := range of {
		sl := p.all[j].Slice
		work := perSet[sl.Set]
		if work == nil {
			work = maps.Clone(left)
			perSet[sl.Set] = work
		}
		if _, ok := sl.Fits(work); ok {
			subtract(work, sl)
			sum += p.size(sl)
		}
	}
	return sum
}

// size is a slice's share of its GPUs, in millionths of one.
func (p *preference) size(sl gpu.Slice) int64 {
	if len(sl.GPUs) > 1 {
		return int64(len(sl.GPUs)) * perGPU
	}
	var share int64
	for _, uuid := range sl.GPUs {
		for _, u := range sl.Uses {
			if total := p.totals[u.Counter]; total > 0 && slices.Contains(p.ownedBy[uuid], u.Counter) {
				share = max(share, u.Amount*perGPU/total)
			}
		}
	}
	return share
}
