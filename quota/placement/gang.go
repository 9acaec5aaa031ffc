// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"
	"slices"
)

// PlaceAll finds seats for all asks of a gang at the same time, in their order, or
// says why there are none. It takes nothing. It places the largest first; where
// that fails and the asks differ it searches other nodes for them, with a bound.
func (r *Room) PlaceAll(asks []Ask) ([]Seat, *Why) {
	if len(asks) == 1 {
		seat, why := r.Place(asks[0])
		if why != nil {
			return nil, why
		}
		return []Seat{seat}, nil
	}
	g := &gang{room: r, members: r.members(asks), steps: maxGangSteps}
	defer func() { g.undoTo(0) }()
	if why := g.greedy(); why != nil && (!g.differ() || !g.otherwise()) {
		return nil, why
	}
	seats := make([]Seat, len(asks))
	for k, p := range g.placed {
		seats[g.members[k].index] = p.table.seatFor(g.members[k].uid, p.at)
	}
	return seats, nil
}

// maxGangSteps bounds the search for a gang's seats. Each step looks at all nodes.
const maxGangSteps = 200

// gang is a search for seats of several asks.
type gang struct {
	room    *Room
	members []member
	placed  []place // of the first members
	steps   int
	// admits are, for each node, which members may be there, as one bit for each
	// different limits; made by otherwise.
	admits map[*table]uint64
}

type member struct {
	*query
	index int // in asks
	kind  int // which of the different limits it has
	nodes int // on how many nodes it may be
}

type place struct {
	table *table
	at    []int
}

// members are the asks with the largest first, by their share of GPUs.
func (r *Room) members(asks []Ask) []member {
	weight := make([]int64, len(asks))
	all := make([]member, len(asks))
	for k := range asks {
		all[k] = member{query: r.query(asks[k]), index: k}
		for _, need := range all[k].needs {
			weight[k] += int64(need.N) * r.sizes[need.Set]
		}
	}
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(weight[b.index], weight[a.index]) })
	return all
}

// greedy places one member after the other at its best place.
func (g *gang) greedy() *Why {
	for k, m := range g.members {
		t, at := g.room.best(m.query)
		if t == nil {
			w := *g.room.why(m.query)
			w.Message = fmt.Sprintf("%d of the %d pods that start together have a place, the next has not: %s", k, len(g.members), w.Message)
			return &w
		}
		g.put(t, at)
	}
	return nil
}

// differ reports whether another order could find what greedy did not: members
// that are all alike have nothing to exchange.
func (g *gang) differ() bool {
	first := g.members[0].refusal()
	return slices.ContainsFunc(g.members, func(m member) bool { return m.refusal() != first })
}

// otherwise searches with those first that may be on the fewest nodes.
func (g *gang) otherwise() bool {
	g.undoTo(0)
	kinds := map[string]int{}
	for k := range g.members {
		m := &g.members[k]
		if _, known := kinds[m.limits.key]; !known {
			kinds[m.limits.key] = len(kinds)
		}
		m.kind = kinds[m.limits.key]
	}
	g.admits = map[*table]uint64{}
	for _, t := range g.room.tables {
		for k := range g.members {
			m := &g.members[k]
			if t.node.Usable && m.limits.against(t.node) == "" {
				g.admits[t] |= 1 << (m.kind % 64)
				m.nodes++
			}
		}
	}
	slices.SortStableFunc(g.members, func(a, b member) int { return cmp.Compare(a.nodes, b.nodes) })
	return g.from(0)
}

// from places the k-th member and those after it.
func (g *gang) from(k int) bool {
	if k == len(g.members) {
		return true
	}
	for _, c := range g.candidates(g.members[k]) {
		if g.steps--; g.steps < 0 {
			return false
		}
		if !g.room.confirmed(c.table, c.Slices) {
			continue
		}
		g.put(c.table, c.Slices)
		if g.from(k + 1) {
			return true
		}
		g.undoTo(k)
	}
	return false
}

type candidate struct {
	answer
	table *table
}

// candidates are the nodes for a member, best first; of those that are the same
// for all members only the first.
func (g *gang) candidates(m member) []candidate {
	type alike struct {
		shape  int
		digest uint64
		admits uint64
	}
	seen := map[alike]bool{}
	var all []candidate
	for _, t := range g.room.tables {
		if !t.node.Usable || m.limits.against(t.node) != "" {
			continue
		}
		a := g.room.ask(t, m.query)
		key := alike{t.shape, t.digest, g.admits[t]}
		if a.ok && !seen[key] {
			seen[key] = true
			all = append(all, candidate{a, t})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case better(a.answer, a.table, b.answer, b.table):
			return -1
		case better(b.answer, b.table, a.answer, a.table):
			return 1
		}
		return 0
	})
	return all
}

func (g *gang) put(t *table, at []int) {
	for _, i := range at {
		t.take(i)
	}
	g.placed = append(g.placed, place{t, at})
}

// undoTo gives back the seats of all but the first n members.
func (g *gang) undoTo(n int) {
	for _, p := range g.placed[n:] {
		for _, i := range p.at {
			p.table.give(i)
		}
	}
	g.placed = g.placed[:n]
}
