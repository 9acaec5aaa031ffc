// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// UnitsOf is a GPU part's share of GPUs in 1/gpu.UnitsPerGPU of one: whole GPUs
// by their number, a block set by its percent, and a MIG instance by its compute
// slices out of those that the whole GPU has. nil, a CPU-only set, is 0. A MIG
// instance on a GPU whose number of slices is not known (0 or less) counts as a
// whole GPU, so that a quota is never undercut by what is missing.
func UnitsOf(g *api.SetGPU, slicesOfGPU int) int64 {
	switch kind, ok := kindOf(g); {
	case !ok:
		return 0
	case kind == gpu.KindWhole:
		return int64(*g.Count) * gpu.UnitsPerGPU
	case kind == gpu.KindBlock:
		return int64(*g.BlockPercent) * gpu.UnitsPerGPU / gpu.BlocksPerGPU
	case kind == gpu.KindMIG && slicesOfGPU > 0:
		return min(int64(g.MIG.ComputeSlices)*gpu.UnitsPerGPU/int64(slicesOfGPU), gpu.UnitsPerGPU)
	case kind == gpu.KindMIG:
		return gpu.UnitsPerGPU
	}
	return 0
}

// unitsOf are the units of each part over all sites. A MIG set that is cut from
// several models of GPU counts with the largest of its fractions.
func unitsOf(sites []*site, parts []part) []int64 {
	units := make([]int64, len(parts))
	for i, p := range parts {
		if p.kind != gpu.KindMIG {
			units[i] = UnitsOf(p.gpu, 0)
		}
	}
	for _, s := range sites {
		for i, p := range parts {
			if p.kind != gpu.KindMIG {
				continue
			}
			for _, st := range s.seats[i] {
				if st.rank > 0 {
					break
				}
				for _, c := range st.cuts {
					units[i] = max(units[i], UnitsOf(p.gpu, s.cuts[c].model.board.compute))
				}
			}
		}
	}
	return units
}
