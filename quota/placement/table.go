// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"maps"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
)

// table is one node's ledger.
type table struct {
	node  *Node
	board *choice.Board
	// shape is a board that is the same but for names, shared by like nodes.
	shape *choice.Board
	now   choice.State
	held  map[gpu.SliceID]bool
	// holder is by whom each held slice is held, by position.
	holder map[int]string
	byWhom map[string][]int // as reported; made when first asked for
	kept   *future          // nil: nothing is kept here
	free   int64            // how much of the node is free, in millionths
	open   choice.State     // what others may take: now, less what is kept
	digest uint64           // of open
	salt   uint64           // see Room.confirmed
	stale  bool             // free, open and digest are to be worked out
}

// future is the ledger as it will be when those who stand in the way of what is
// kept have left, and it is taken.
type future struct {
	choice.State
	// leaving are held slices that this ledger counts as given back.
	leaving map[int]bool
}

func newTable(n *Node, shapes *shapes) *table {
	t := &table{node: n, board: n.board, held: make(map[gpu.SliceID]bool, len(n.Held)), holder: make(map[int]string, len(n.Held)), stale: true}
	if t.board == nil {
		t.board = choice.NewBoard(n.Layout.Totals, n.Layout.Slices)
	}
	t.shape = shapes.like(t.board)
	t.now = t.board.Empty()
	for i := range t.now.Marks {
		t.now.Marks[i] = t.idle(i)
	}
	for id, whom := range n.Held {
		if i, ok := t.board.At(id); ok {
			t.take(i, whom)
		}
	}
	return t
}

// idle is the mark of a slice that nobody holds.
func (t *table) idle(i int) choice.Mark {
	s := &t.node.Layout.Slices[i]
	if t.node.Down[s.ID] || t.node.NotOffered[s.Set] {
		return choice.Out
	}
	return choice.Open
}

// soon is idle, with the sets that the kubelet has yet to hear of.
func (t *table) soon(i int) choice.Mark {
	if t.node.Down[t.node.Layout.Slices[i].ID] {
		return choice.Out
	}
	return choice.Open
}

// take gives a slice to somebody. One that is held already only changes hands.
func (t *table) take(i int, whom string) {
	id := t.node.Layout.Slices[i].ID
	t.holder[i] = whom
	if t.held[id] {
		return
	}
	t.held[id], t.stale = true, true
	t.now.Marks[i] = choice.Taken
	t.board.Change(i, t.now.Left, -1)
	if t.kept != nil {
		t.kept.Marks[i] = choice.Taken
		t.board.Change(i, t.kept.Left, -1)
	}
}

// give takes a slice back.
func (t *table) give(i int) {
	id := t.node.Layout.Slices[i].ID
	if !t.held[id] {
		return
	}
	delete(t.held, id)
	delete(t.holder, i)
	t.stale = true
	t.now.Marks[i] = t.idle(i)
	t.board.Change(i, t.now.Left, +1)
	if t.kept == nil {
		return
	}
	if t.kept.leaving[i] {
		delete(t.kept.leaving, i)
		return
	}
	t.kept.Marks[i] = t.soon(i)
	t.board.Change(i, t.kept.Left, +1)
}

// later is the ledger that room is kept in, to be changed by the caller.
func (t *table) later() *future {
	if t.kept != nil {
		return &future{t.kept.Clone(), maps.Clone(t.kept.leaving)}
	}
	f := &future{leaving: map[int]bool{}}
	f.State = t.present()
	return f
}

// present is the ledger now, with the sets that the kubelet has yet to hear of.
func (t *table) present() choice.State {
	s := t.now.Clone()
	for i, mark := range s.Marks {
		if mark == choice.Out {
			s.Marks[i] = t.soon(i)
		}
	}
	return s
}

// settle works out what depends on the ledger, if it has changed.
func (t *table) settle() {
	if !t.stale {
		return
	}
	t.stale = false
	t.free = t.board.Unused(t.now.Left)
	t.open = t.now
	if t.kept != nil {
		t.open = t.now.Clone()
		for c, left := range t.kept.Left {
			t.open.Left[c] = min(t.open.Left[c], left)
		}
		for i, mark := range t.kept.Marks {
			if t.open.Marks[i] == choice.Open && mark != choice.Open {
				t.open.Marks[i] = choice.Out
			}
		}
	}
	t.digest = digestOf(t.open, t.salt)
}

// digestOf tells states apart. Two that share one are rare and harmless: see
// Room.confirmed.
func digestOf(s choice.State, salt uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := salt + odd
	mix := func(x uint64) {
		h = (h ^ x) * odd
		h ^= h >> 29
	}
	var word uint64
	for i, mark := range s.Marks {
		word = word<<2 | uint64(mark)
		if i%32 == 31 {
			mix(word)
			word = 0
		}
	}
	mix(word)
	for _, left := range s.Left {
		mix(uint64(left))
	}
	return h
}

// shapes finds boards that are alike.
type shapes struct {
	known map[uint64][]*choice.Board
}

func (s *shapes) like(b *choice.Board) *choice.Board {
	key := digestOf(b.Empty(), 0)
	for _, k := range s.known[key] {
		if k.Same(b) {
			return k
		}
	}
	s.known[key] = append(s.known[key], b)
	return b
}
