// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"aipub.io/aipub/gpu"
)

// blockItem is one size of block slice on one GPU.
type blockItem struct {
	percent int
	memory  int64 // device memory
	amount        // host CPU and memory
}

// fitsOn is how many of the item one GPU with the given memory holds.
func (b blockItem) fitsOn(gpuMemory int64) int {
	n := gpu.BlocksPerGPU / b.percent
	if b.memory > 0 {
		n = int(min(int64(n), gpuMemory/b.memory))
	}
	return n
}

// fullestBlocks is the most percent of a GPU that any mixture of the items
// uses. It is exact: for every percent it knows the least memory that reaches
// it.
func fullestBlocks(items []blockItem, gpuMemory int64) int {
	const none = -1
	var least [gpu.BlocksPerGPU + 1]int64
	best := 0
	for p := 1; p <= gpu.BlocksPerGPU; p++ {
		least[p] = none
		for _, it := range items {
			if it.percent > p || least[p-it.percent] == none {
				continue
			}
			if m := least[p-it.percent] + it.memory; m <= gpuMemory && (least[p] == none || m < least[p]) {
				least[p] = m
			}
		}
		if least[p] != none {
			best = p
		}
	}
	return best
}

// heaviestBlocks is an upper bound of the host CPU and memory that any mixture
// of the items on one GPU uses; exact unless device memory limits the mixture.
func heaviestBlocks(items []blockItem) amount {
	if len(items) == 0 {
		return amount{}
	}
	var most [gpu.BlocksPerGPU + 1]amount
	for p := 1; p <= gpu.BlocksPerGPU; p++ {
		most[p] = most[p-1]
		for _, it := range items {
			if it.percent <= p {
				most[p] = most[p].max(most[p-it.percent].plus(it.amount))
			}
		}
	}
	return most[gpu.BlocksPerGPU]
}
