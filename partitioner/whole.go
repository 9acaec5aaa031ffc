// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"cmp"
	"slices"

	"aipub.io/aipub/gpu"
)

// groupsOf chooses disjoint groups of n whole GPUs of one model: within one
// NUMA node as far as they go, then across. Groups are cut from the front of
// one fixed order, so groups of sizes that divide each other nest, and neither
// a new driver index nor another set moves a GPU to another group. The result
// are indices into gpus.
func groupsOf(gpus []gpu.GPU, whole []int, n int) [][]int {
	order := slices.Clone(whole)
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := gpus[a], gpus[b]
		return cmp.Or(
			cmp.Compare(x.Model, y.Model),
			cmp.Compare(x.NUMANode, y.NUMANode),
			cmp.Compare(x.PCIBusID, y.PCIBusID),
			cmp.Compare(x.UUID, y.UUID),
		)
	})
	model := func(i int) string { return gpus[i].Model }
	numa := func(i int) int { return gpus[i].NUMANode }
	var groups [][]int
	for _, same := range runs(order, model) {
		var rest []int
		for _, near := range runs(same, numa) {
			full := len(near) - len(near)%n
			groups = slices.AppendSeq(groups, slices.Chunk(near[:full], n))
			rest = append(rest, near[full:]...)
		}
		full := len(rest) - len(rest)%n
		groups = slices.AppendSeq(groups, slices.Chunk(rest[:full], n))
	}
	return groups
}

// runs cuts a list where the key changes.
func runs[K comparable](list []int, key func(int) K) [][]int {
	var out [][]int
	start := 0
	for i := range list {
		if i > 0 && key(list[i]) != key(list[i-1]) {
			out = append(out, list[start:i])
			start = i
		}
	}
	if start < len(list) {
		out = append(out, list[start:])
	}
	return out
}
