// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"cmp"
	"slices"
)

// Container is one that holds slices of GPUs.
type Container struct {
	// Cgroup is its own, as a path below the root of the hierarchy (CgroupOf).
	Cgroup string
	Shares []Share
}

// Share is a slice's memory on one GPU.
type Share struct {
	PCIBusID string
	Bytes    uint64 // 0: not limited
}

// Limit is a line of a cgroup's dmem.max.
type Limit struct {
	Cgroup, Region string
	Bytes          uint64
}

// Plan says what the kernel should limit. A container with several slices of a GPU
// may use their sum; with one of them not limited, it is not limited there. Where
// a GPU has several regions, each has the same limit. The order is by cgroup and
// region.
func Plan(regions []Region, containers []Container) []Limit {
	var all []Limit
	for _, c := range containers {
		for _, s := range sums(c.Shares) {
			for _, r := range Of(regions, s.PCIBusID) {
				all = append(all, Limit{Cgroup: c.Cgroup, Region: r.Name, Bytes: s.Bytes})
			}
		}
	}
	slices.SortFunc(all, func(x, y Limit) int {
		return cmp.Or(cmp.Compare(x.Cgroup, y.Cgroup), cmp.Compare(x.Region, y.Region))
	})
	return all
}

// sums are the shares by GPU, without those that are not limited.
func sums(shares []Share) []Share {
	var all []Share
	for _, s := range shares {
		i := slices.IndexFunc(all, func(t Share) bool { return t.PCIBusID == s.PCIBusID })
		switch {
		case i < 0:
			all = append(all, s)
		case s.Bytes == 0 || all[i].Bytes == 0:
			all[i].Bytes = 0
		default:
			all[i].Bytes += s.Bytes
		}
	}
	return slices.DeleteFunc(all, func(s Share) bool { return s.Bytes == 0 })
}
