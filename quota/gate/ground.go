// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// Book makes the book of a snapshot: its quotas, what is charged, and the minimums
// that are reserved.
func (s *Snapshot) Book() *quota.Book {
	book, _ := s.ledger()
	return book
}

// ledger is Book with the minimums that it reserves. Two Operations that were
// admitted at the same moment may not both fit; the elder one does, and the pods of
// the other are claims like any.
func (s *Snapshot) ledger() (*quota.Book, []quota.Floor) {
	book := quota.NewBook(s.Quotas, s.Sizes)
	for i := range s.Charged {
		if c := &s.Charged[i]; !c.Unmanaged {
			book.Charge(c.Claim, c.Grade)
		}
	}
	return book, reserve(book, s.Floors)
}

// reserve keeps the minimums that fit, in order, and returns them.
func reserve(book *quota.Book, floors []quota.Floor) []quota.Floor {
	var kept []quota.Floor
	for _, f := range floors {
		if book.CheckFloor(f).OK() {
			book.Reserve(f)
			kept = append(kept, f)
		}
	}
	return kept
}

// Room makes the room of a snapshot: its nodes, what they hold, and what is on its
// way to them.
func (s *Snapshot) Room() *placement.Room {
	room := placement.NewRoom(s.Nodes)
	held := s.held()
	for i := range s.Charged {
		c := &s.Charged[i]
		if c.Node == "" || held[holding{c.Node, c.Claim.Namespace + "/" + c.Claim.Name}] >= total(c.Claim.Sets) {
			continue
		}
		// A node that cannot hold it is one that changed since, or is gone: there is
		// nothing to take there.
		room.TakeOn(c.Node, c.Ask)
	}
	return room
}

// holding is a holder of slices on a node, as the node's agent names it.
type holding struct{ node, holder string }

// held counts the slices that nodes say are held.
func (s *Snapshot) held() map[holding]int64 {
	out := map[holding]int64{}
	for i := range s.Nodes {
		for _, holder := range s.Nodes[i].Held {
			out[holding{s.Nodes[i].Name, holder}]++
		}
	}
	return out
}

func total(sets map[string]int64) int64 {
	var n int64
	for _, count := range sets {
		n += count
	}
	return n
}
