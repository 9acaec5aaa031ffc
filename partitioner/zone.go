// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// zone is a part of a node whose CPU and memory are divided among its own GPUs:
// a NUMA node, or the node as one.
type zone struct {
	name string // "numa0" or "node"
	numa int    // NUMA node, or gpu.NUMAUnknown for the node as one
	cap  amount // what sets may use
}

// title is the zone's name in a sentence.
func (z zone) title() string {
	if z.numa == gpu.NUMAUnknown {
		return "the node"
	}
	return fmt.Sprintf("NUMA node %d", z.numa)
}

// zonesOf divides a node, less the policy's reserve, into its zones. There is
// always at least one.
func zonesOf(n Node, spec api.PartitionPolicySpec) []zone {
	room := amount{n.CPUMilli, n.MemoryBytes}.minus(reserveOf(spec)).atLeastZero()
	numa := alignedNodes(n, spec)
	if numa == nil {
		return []zone{{name: "node", numa: gpu.NUMAUnknown, cap: room}}
	}
	var cpus, mem int64
	for _, nn := range numa {
		cpus += int64(nn.CPUs)
		mem += nn.MemoryBytes
	}
	zones := make([]zone, len(numa))
	for i, nn := range numa {
		zones[i] = zone{
			name: fmt.Sprintf("numa%d", nn.ID),
			numa: nn.ID,
			cap: amount{
				cpu: mulDiv(room.cpu, int64(nn.CPUs), cpus),
				mem: mulDiv(room.mem, nn.MemoryBytes, max(mem, 1)),
			},
		}
	}
	return zones
}

// alignedNodes are the NUMA nodes to divide by, or nil where the node is one
// zone: the policy says Ignore, there are not two, or a GPU's place is unknown.
func alignedNodes(n Node, spec api.PartitionPolicySpec) []NUMANode {
	if spec.NUMA == api.NUMAIgnore {
		return nil
	}
	known := map[int]bool{}
	var nodes []NUMANode
	for _, nn := range n.NUMA {
		if nn.CPUs > 0 && nn.MemoryBytes >= 0 && nn.ID >= 0 && !known[nn.ID] {
			known[nn.ID] = true
			nodes = append(nodes, nn)
		}
	}
	for _, g := range n.GPUs {
		if !known[g.NUMANode] {
			return nil
		}
	}
	if len(nodes) < 2 {
		return nil
	}
	return nodes
}

// zoneOf is the index of the zone that a GPU is in.
func zoneOf(zones []zone, g gpu.GPU) int {
	for i, z := range zones {
		if z.numa == g.NUMANode {
			return i
		}
	}
	return 0
}

func reserveOf(spec api.PartitionPolicySpec) amount {
	var a amount
	if q := spec.Reserve.CPU; q != nil {
		a.cpu = q.MilliValue()
	}
	if q := spec.Reserve.Memory; q != nil {
		a.mem = q.Value()
	}
	return a.atLeastZero()
}

// caps are the capacities of the zones, to be used up.
func caps(zones []zone) []amount {
	room := make([]amount, len(zones))
	for i, z := range zones {
		room[i] = z.cap
	}
	return room
}

// draw is what a slice takes of one zone.
type draw struct {
	zone int
	amount
}

// takeUnit takes one unit that has no GPU from the rooms of the zones: whole,
// from the zone that has the most CPU left for each of its gpus, so those
// without GPUs first; else from several, the fullest first. It reports false,
// taking nothing, if all together hold too little.
func takeUnit(room []amount, gpus []int, need amount) ([]draw, bool) {
	best := -1
	var all amount
	for i, r := range room {
		all = all.plus(r)
		if need.fits(r) && (best < 0 || roomier(r, gpus[i], room[best], gpus[best])) {
			best = i
		}
	}
	if best >= 0 {
		room[best] = room[best].minus(need)
		return []draw{{best, need}}, true
	}
	if !need.fits(all) {
		return nil, false
	}
	cpu := scoop(need.cpu, room, func(a amount) int64 { return a.cpu })
	mem := scoop(need.mem, room, func(a amount) int64 { return a.mem })
	var draws []draw
	for i := range room {
		if d := (amount{cpu[i], mem[i]}); d != (amount{}) {
			room[i] = room[i].minus(d)
			draws = append(draws, draw{i, d})
		}
	}
	return draws, true
}

// roomier reports whether a zone with a and n GPUs has more CPU for each than
// one with b and m.
func roomier(a amount, n int, b amount, m int) bool {
	if (n == 0) != (m == 0) {
		return n == 0
	}
	return a.cpu*int64(max(m, 1)) > b.cpu*int64(max(n, 1))
}

// scoop takes need from the rooms, the fullest first. Preconditions: together
// they hold it.
func scoop(need int64, room []amount, of func(amount) int64) []int64 {
	got := make([]int64, len(room))
	for need > 0 {
		best := 0
		for i, r := range room {
			if of(r)-got[i] > of(room[best])-got[best] {
				best = i
			}
		}
		n := min(need, of(room[best])-got[best])
		got[best] += n
		need -= n
	}
	return got
}

// takeDraws takes the draws from the rooms, or reports false and takes nothing.
func takeDraws(room []amount, draws []draw) bool {
	for _, d := range draws {
		if !d.fits(room[d.zone]) {
			return false
		}
	}
	for _, d := range draws {
		room[d.zone] = room[d.zone].minus(d.amount)
	}
	return true
}
