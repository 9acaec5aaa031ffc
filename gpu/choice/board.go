// SPDX-License-Identifier: Apache-2.0

// Package choice decides which slices of a node to take, so that large ones stay
// whole. The kubelet asks it through the device plugin when a container starts,
// and the controller before it opens a pod's gate: both must come to the same
// answer, so it is the same code, without knowledge of either.
package choice

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"aipub.io/aipub/gpu"
)

// perGPU is the scale in which shares of a GPU are compared.
const perGPU = 1_000_000

// Board is a node's slices and counters by position instead of by name, to be
// asked often: what stays the same while slices come and go. It is immutable and
// safe for concurrent use.
type Board struct {
	ids      []gpu.SliceID
	pos      map[gpu.SliceID]int
	slices   []slice
	sets     []string
	setOf    map[string]int
	counters []gpu.Counter
	totals   []int64
	onGPU    [][]int // slices of each GPU
	own      [][]int // counters that belong to one GPU alone
	members  [][]int // slices of each set
	users    [][]int // slices that take from each counter
	groups   int     // how many kinds of slices there are
	shape    Shape
}

// Shape tells boards apart. Two with the same shape are alike but for the names of
// slices, GPUs and counters: every question has the same answer on both.
type Shape [sha256.Size]byte

// Shape of the board.
func (b *Board) Shape() Shape { return b.shape }

// slice is a slice by positions.
type slice struct {
	set  int
	gpus []int
	uses []use
	numa []int
	// group is the same for slices that take the same from the same GPUs and of
	// the same set.
	group int
	// size is its share of its GPUs, in millionths of one.
	size int64
}

type use struct {
	counter int
	amount  int64
}

// NewBoard compiles slices and the counters that they share. A counter without a
// total has none to give.
func NewBoard(totals map[gpu.Counter]int64, all []gpu.Slice) *Board {
	b := &Board{
		ids: make([]gpu.SliceID, len(all)), pos: make(map[gpu.SliceID]int, len(all)),
		slices: make([]slice, len(all)), setOf: map[string]int{},
	}
	c := compiler{b: b, counters: map[gpu.Counter]int{}, gpus: map[string]int{}, totals: totals}
	// Slices of one GPU first: so nodes that are alike but for their names come
	// out the same, whatever order a slice of several GPUs lists them in.
	for _, several := range []bool{false, true} {
		for i := range all {
			if (len(all[i].GPUs) > 1) == several {
				c.number(&all[i])
			}
		}
	}
	b.onGPU = make([][]int, len(c.gpus))
	for i := range all {
		c.add(i, &all[i])
	}
	b.own = b.owned(len(c.gpus))
	b.members = make([][]int, len(b.sets))
	b.users = make([][]int, len(b.counters))
	groups := map[string]int{}
	for i := range b.slices {
		s := &b.slices[i]
		s.size = b.sizeOf(s)
		key := s.key()
		if _, known := groups[key]; !known {
			groups[key] = len(groups)
		}
		s.group = groups[key]
		b.members[s.set] = append(b.members[s.set], i)
		for _, u := range s.uses {
			b.users[u.counter] = append(b.users[u.counter], i)
		}
	}
	b.groups = len(groups)
	b.shape = sha256.Sum256(b.form())
	return b
}

// form writes down all that answers depend on.
func (b *Board) form() []byte {
	var f []byte
	put := func(n int64) { f = binary.AppendVarint(f, n) }
	list := func(all []int) {
		put(int64(len(all)))
		for _, n := range all {
			put(int64(n))
		}
	}
	put(int64(len(b.totals)))
	for _, total := range b.totals {
		put(total)
	}
	for _, set := range b.sets {
		put(int64(len(set)))
		f = append(f, set...)
	}
	for i := range b.slices {
		s := &b.slices[i]
		put(int64(s.set))
		list(s.gpus)
		list(s.numa)
		put(int64(len(s.uses)))
		for _, u := range s.uses {
			put(int64(u.counter))
			put(u.amount)
		}
	}
	return f
}

// compiler numbers names in the order in which they are first met.
type compiler struct {
	b        *Board
	counters map[gpu.Counter]int
	gpus     map[string]int
	totals   map[gpu.Counter]int64
}

func (c compiler) number(s *gpu.Slice) {
	for _, uuid := range s.GPUs {
		if _, known := c.gpus[uuid]; !known {
			c.gpus[uuid] = len(c.gpus)
		}
	}
	for _, u := range s.Uses {
		if _, known := c.counters[u.Counter]; !known {
			c.counters[u.Counter] = len(c.counters)
			c.b.counters = append(c.b.counters, u.Counter)
			c.b.totals = append(c.b.totals, c.totals[u.Counter])
		}
	}
}

func (c compiler) add(i int, s *gpu.Slice) {
	b := c.b
	set, known := b.setOf[s.Set]
	if !known {
		set = len(b.sets)
		b.setOf[s.Set] = set
		b.sets = append(b.sets, s.Set)
	}
	b.ids[i], b.pos[s.ID] = s.ID, i
	out := slice{set: set, numa: s.NUMANodes, gpus: make([]int, 0, len(s.GPUs)), uses: make([]use, 0, len(s.Uses))}
	for _, uuid := range s.GPUs {
		g := c.gpus[uuid]
		out.gpus = append(out.gpus, g)
		b.onGPU[g] = append(b.onGPU[g], i)
	}
	for _, u := range s.Uses {
		out.uses = append(out.uses, use{c.counters[u.Counter], u.Amount})
	}
	slices.SortStableFunc(out.uses, func(x, y use) int { return x.counter - y.counter })
	b.slices[i] = out
}

// owned finds the counters that only slices of one GPU use: they measure that
// GPU, the others measure the host. Slices of several GPUs do not count, since
// they use the counters of each.
func (b *Board) owned(gpus int) [][]int {
	const nobody, host = -2, -1
	owner := make([]int, len(b.counters))
	for c := range owner {
		owner[c] = nobody
	}
	for i := range b.slices {
		s := &b.slices[i]
		if len(s.gpus) > 1 {
			continue
		}
		mine := host
		if len(s.gpus) == 1 {
			mine = s.gpus[0]
		}
		for _, u := range s.uses {
			if was := owner[u.counter]; was != nobody && was != mine {
				owner[u.counter] = host
			} else {
				owner[u.counter] = mine
			}
		}
	}
	own := make([][]int, gpus)
	for c, g := range owner {
		if g >= 0 {
			own[g] = append(own[g], c)
		}
	}
	return own
}

// sizeOf is a slice's share of its GPUs.
func (b *Board) sizeOf(s *slice) int64 {
	if len(s.gpus) > 1 {
		return int64(len(s.gpus)) * perGPU
	}
	var share int64
	for _, g := range s.gpus {
		for _, u := range s.uses {
			if total := b.totals[u.counter]; total > 0 && slices.Contains(b.own[g], u.counter) {
				share = max(share, u.amount*perGPU/total)
			}
		}
	}
	return share
}

// key is the same for slices that are as good as each other but for NUMA nodes,
// which follow from the GPUs.
func (s *slice) key() string {
	k := make([]byte, 0, 32)
	k = binary.AppendVarint(k, int64(s.set))
	k = binary.AppendVarint(k, int64(len(s.gpus)))
	for _, g := range s.gpus {
		k = binary.AppendVarint(k, int64(g))
	}
	for _, u := range s.uses {
		k = binary.AppendVarint(k, int64(u.counter))
		k = binary.AppendVarint(k, u.amount)
	}
	return string(k)
}
