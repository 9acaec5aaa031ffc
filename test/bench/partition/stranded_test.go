// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
)

const (
	fleets   = 20  // each with a policy of its own
	machines = 50  // of a fleet
	patience = 200 // requests refused in a row before a node counts as full
)

// BenchmarkStranded fills fleets of mixed nodes with random requests until
// nothing fits, and reports the part of all GPUs that is left free although a
// request would fit the GPU: it is stranded for lack of CPU or memory. Beside
// sets it shows two ways of splitting CPU, memory and GPU separately: every user
// writes some CPU and memory, within a factor of four of the fleet's mean for
// that much GPU; and everybody writes exactly the mean.
func BenchmarkStranded(b *testing.B) {
	for b.Loop() {
		var sets, free, mean tally
		var raw []string
		for seed := range uint64(fleets) {
			rng := rand.New(rand.NewPCG(seed, 7))
			f := newFleet(rng)
			s, u, m := f.withSets(rng), f.separately(rng, 4), f.separately(rng, 1)
			sets, free, mean = sets.plus(s), free.plus(u), mean.plus(m)
			raw = append(raw, fmt.Sprintf("fleet %d, blocks %v: sets %.2f%%, separate %.2f%%, mean %.2f%%",
				seed, f.percents, s.percent(), u.percent(), m.percent()))
		}
		b.Logf("%d fleets of %d nodes; CPU not handed out: sets %.1f%%, separate %.1f%%, mean %.1f%%",
			fleets, machines, sets.cpuPercent(), free.cpuPercent(), mean.cpuPercent())
		figure(b, "node.stranded_percent", sets.percent(), "percent", raw)
		figure(b, "node.stranded_percent.separate", free.percent(), "percent", nil)
		figure(b, "node.stranded_percent.separate_mean", mean.percent(), "percent", nil)
	}
}

// tally is GPU in hundredths, and the CPU that stays on the nodes.
type tally struct {
	stranded, all   int
	cpuLeft, cpuAll float64
}

func (t tally) plus(o tally) tally {
	return tally{t.stranded + o.stranded, t.all + o.all, t.cpuLeft + o.cpuLeft, t.cpuAll + o.cpuAll}
}

func (t tally) cpuPercent() float64 { return 100 * t.cpuLeft / t.cpuAll }

func (t tally) percent() float64 { return 100 * float64(t.stranded) / float64(max(t.all, 1)) }

// fleet is a pool of nodes of different CPU and memory, and the block sizes that
// its users ask for.
type fleet struct {
	nodes    []partitioner.Node
	percents []int
	// cpu and memory are the fleet's mean for one GPU.
	cpu, memory float64
}

func newFleet(rng *rand.Rand) fleet {
	var f fleet
	var cpu, memory, gpuCount float64
	for i := range machines {
		n := []int{4, 8, 8}[rng.IntN(3)]
		cores := []int64{48, 64, 96, 128, 192}[rng.IntN(5)]
		mem := []int64{256, 512, 1024, 2048}[rng.IntN(4)] * gib
		f.nodes = append(f.nodes, node(fmt.Sprintf("n%02d", i), cores, mem, gpus(n, "H200", 141*gib, nil)))
		cpu, memory, gpuCount = cpu+float64(cores)*1000, memory+float64(mem), gpuCount+float64(n)
	}
	f.cpu, f.memory = cpu/gpuCount, memory/gpuCount
	for _, p := range []int{10, 20, 25, 30, 50, 100} {
		if rng.IntN(2) == 0 || p == 50 {
			f.percents = append(f.percents, p)
		}
	}
	return f
}

// withSets divides the fleet evenly and fills it with sets.
func (f fleet) withSets(rng *rand.Rand) tally {
	spec := api.PartitionPolicySpec{GPUs: []api.GPURule{{Mode: api.GPUBlock}}}
	for _, p := range f.percents {
		percent := int32(p)
		spec.Sets = append(spec.Sets, api.SetTemplate{Name: fmt.Sprintf("p%d", p), GPU: &api.SetGPU{BlockPercent: &percent}})
	}
	sizes := partitioner.Divide(spec, f.nodes).Sets
	var t tally
	for _, n := range f.nodes {
		l, _ := partitioner.Plan(n, spec, sizes)
		left := l.Remaining(nil)
		for _, i := range rng.Perm(len(l.Slices)) {
			if _, ok := l.Slices[i].Fits(left); ok {
				for _, u := range l.Slices[i].Uses {
					left[u.Counter] -= u.Amount
				}
			}
		}
		free := map[string]int{}
		for _, s := range l.Slices {
			free[s.GPUs[0]] = int(left[s.Uses[0].Counter])
		}
		cpu := float64(left["numa0/cpu"] + left["numa1/cpu"])
		t = t.plus(f.strandedOn(n, free, cpu))
	}
	return t
}

// separately fills the fleet with pods that ask for blocks, CPU and memory each
// by itself, up to spread times more or less than the mean.
func (f fleet) separately(rng *rand.Rand, spread float64) tally {
	var t tally
	around := func(mean float64) float64 { return mean * math.Pow(spread, 2*rng.Float64()-1) }
	for _, n := range f.nodes {
		cpu, memory := float64(n.CPUMilli), float64(n.MemoryBytes)
		free := map[string]int{}
		for _, g := range n.GPUs {
			free[g.UUID] = gpu.BlocksPerGPU
		}
		for refused := 0; refused < patience; refused++ {
			p := f.percents[rng.IntN(len(f.percents))]
			part := float64(p) / gpu.BlocksPerGPU
			c, m := around(f.cpu*part), around(f.memory*part)
			for _, g := range n.GPUs {
				if free[g.UUID] >= p && c <= cpu && m <= memory {
					free[g.UUID] -= p
					cpu, memory, refused = cpu-c, memory-m, 0
					break
				}
			}
		}
		t = t.plus(f.strandedOn(n, free, cpu))
	}
	return t
}

// strandedOn is what requests could still use of a node's GPUs if there were CPU
// and memory without end: the fullest mixture of block sizes for what is free
// of each.
func (f fleet) strandedOn(n partitioner.Node, free map[string]int, cpuLeft float64) tally {
	t := tally{all: len(n.GPUs) * gpu.BlocksPerGPU, cpuLeft: cpuLeft, cpuAll: float64(n.CPUMilli)}
	for _, g := range n.GPUs {
		t.stranded += f.fullest(free[g.UUID])
	}
	return t
}

// fullest is the most of the given blocks that the fleet's sizes fill.
func (f fleet) fullest(blocks int) int {
	best := 0
	for _, p := range f.percents {
		if p <= blocks {
			best = max(best, p+f.fullest(blocks-p))
		}
	}
	return best
}
