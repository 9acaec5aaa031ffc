// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"aipub.io/aipub/gpu"
)

// Prefer chooses n of the available slices, those in must among them. It keeps
// large slices whole: one after the other it takes, of those that can be taken,
// the slice that
//
//  1. makes the least of other sets impossible on the same GPUs,
//  2. lies on the GPU of which the most is used already (best fit),
//  3. is near to what was chosen before: the same NUMA nodes, then the nearest
//     neighbour in the layout's order; for the first one, a NUMA node that can
//     take all n, and of those the one with the least to spare,
//
// and after that the first in the layout's order. The same input gives the same
// choice. Available IDs that the snapshot does not have are ignored. The error
// says that must has more than n or is not known, or that too few are.
func Prefer(s gpu.Snapshot, available, must []gpu.SliceID, n int) ([]gpu.SliceID, error) {
	if len(must) > n {
		return nil, fmt.Errorf("prefer %d slices: %d must be among them", n, len(must))
	}
	p := newPreference(s, available, n)
	for _, id := range must {
		i, ok := p.pos[id]
		if !ok {
			return nil, fmt.Errorf("prefer slices: %s must be among them but is not known", id)
		}
		p.take(i)
	}
	for len(p.chosen) < n {
		i, ok := p.best()
		if !ok {
			return nil, errors.New("prefer slices: fewer are known than asked for")
		}
		p.take(i)
	}
	ids := make([]gpu.SliceID, len(p.chosen))
	for k, i := range p.chosen {
		ids[k] = p.all[i].Slice.ID
	}
	return ids, nil
}

// preference is a choice in progress. Slices are named by their position.
type preference struct {
	n       int
	all     []gpu.Status
	pos     map[gpu.SliceID]int
	totals  map[gpu.Counter]int64
	left    map[gpu.Counter]int64
	onGPU   map[string][]int         // slices of each GPU
	ownedBy map[string][]gpu.Counter // counters that belong to one GPU alone
	perNUMA map[int]int              // available slices of each NUMA node
	offer   []int                    // available, ascending
	chosen  []int
	taken   map[int]bool // chosen or held
}

func newPreference(s gpu.Snapshot, available []gpu.SliceID, n int) *preference {
	p := &preference{
		n: n, all: s.Slices, totals: s.Totals, left: map[gpu.Counter]int64{},
		pos: make(map[gpu.SliceID]int, len(s.Slices)), onGPU: map[string][]int{},
		perNUMA: map[int]int{}, taken: map[int]bool{},
	}
	maps.Copy(p.left, s.Left)
	for i, st := range s.Slices {
		p.pos[st.Slice.ID] = i
		p.taken[i] = st.State == gpu.StateHeld || st.State == gpu.StateRetired
		for _, uuid := range st.Slice.GPUs {
			p.onGPU[uuid] = append(p.onGPU[uuid], i)
		}
	}
	for _, id := range available {
		i, ok := p.pos[id]
		if !ok {
			continue
		}
		p.offer = append(p.offer, i)
		for _, node := range p.all[i].Slice.NUMANodes {
			p.perNUMA[node]++
		}
	}
	slices.Sort(p.offer)
	p.offer = slices.Compact(p.offer)
	p.ownedBy = owned(s.Slices)
	return p
}

// owned finds the counters that only slices of one GPU use: they measure that
// GPU, the others measure the host. Slices of several GPUs do not count, since
// they use the counters of each.
func owned(all []gpu.Status) map[string][]gpu.Counter {
	owner := map[gpu.Counter]string{}
	for _, st := range all {
		if len(st.Slice.GPUs) > 1 {
			continue
		}
		uuid := ""
		if len(st.Slice.GPUs) == 1 {
			uuid = st.Slice.GPUs[0]
		}
		for _, u := range st.Slice.Uses {
			if was, ok := owner[u.Counter]; ok && was != uuid {
				owner[u.Counter] = ""
			} else {
				owner[u.Counter] = uuid
			}
		}
	}
	by := map[string][]gpu.Counter{}
	for c, uuid := range owner {
		if uuid != "" {
			by[uuid] = append(by[uuid], c)
		}
	}
	return by
}

// take adds a slice to the choice. One that is held already (the kubelet knows
// first that its holder has ended) takes nothing more.
func (p *preference) take(i int) {
	if slices.Contains(p.chosen, i) {
		return
	}
	p.chosen = append(p.chosen, i)
	if !p.taken[i] {
		p.taken[i] = true
		subtract(p.left, p.all[i].Slice)
	}
}

func subtract(left map[gpu.Counter]int64, sl gpu.Slice) {
	for _, u := range sl.Uses {
		left[u.Counter] -= u.Amount
	}
}

// best is the candidate of the lowest cost.
func (p *preference) best() (position int, ok bool) {
	var lowest cost
	lost := map[string]int64{}
	for _, i := range p.offer {
		if slices.Contains(p.chosen, i) {
			continue
		}
		sl := p.all[i].Slice
		key := fmt.Sprint(sl.GPUs, sl.Uses, p.taken[i]) // such slices lose the same
		if _, known := lost[key]; !known {
			lost[key] = p.loss(i)
		}
		if c := p.cost(i, lost[key]); !ok || c.less(lowest) {
			lowest, position, ok = c, i, true
		}
	}
	return position, ok
}
