// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"slices"

	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// Book makes the book of a snapshot: its quotas, what is charged, and the minimums
// that are reserved.
func (s *Snapshot) Book() *quota.Book {
	book, _ := s.ledger()
	return book
}

// ledger is Book with the minimums that it reserves.
func (s *Snapshot) ledger() (*quota.Book, []quota.Floor) {
	book := quota.NewBook(s.Quotas, s.Sizes)
	for i := range s.Charged {
		if c := &s.Charged[i]; !c.Unmanaged {
			book.Charge(c.Claim, c.Grade)
		}
	}
	return book, reserve(book, s.Floors)
}

// reserve keeps of each minimum as many pods as fit, in order, and returns what is
// kept. A minimum that was admitted always fits, but for two that were admitted at the
// same moment, or one that an autoscaler or a lowered quota has made too large; the
// pods beyond what is kept are claims like any.
func reserve(book *quota.Book, floors []quota.Floor) []quota.Floor {
	var kept []quota.Floor
	for _, f := range floors {
		if !book.CheckFloor(f).OK() {
			f.MinReplicas = mostThatFits(book, f)
		}
		if f.MinReplicas > 0 {
			book.Reserve(f)
			kept = append(kept, f)
		}
	}
	return kept
}

// mostThatFits is how many pods of a minimum that is too large have room.
func mostThatFits(book *quota.Book, f quota.Floor) int64 {
	fits := func(n int64) bool {
		f.MinReplicas = n
		return book.CheckFloor(f).OK()
	}
	low, high := int64(0), f.MinReplicas // low fits, high does not
	for high-low > 1 {
		if n := low + (high-low)/2; fits(n) {
			low = n
		} else {
			high = n
		}
	}
	return low
}

// Room makes the room of a snapshot: its nodes, what they hold, and what is on its
// way to them.
func (s *Snapshot) Room() *placement.Room {
	room := placement.NewRoom(s.Nodes)
	for _, c := range s.unreported() {
		// A node that cannot hold it is one that changed since, or is gone: there is
		// nothing to take there.
		room.TakeOn(c.Node, c.Ask)
	}
	for i := range s.Charged {
		if c := &s.Charged[i]; c.Leaving && c.Node != "" {
			room.Leaves(c.Node, c.Ask)
		}
	}
	return room
}

// unreported are the charged pods that their nodes do not report to hold all that they
// ask for, in the order in which they were opened: so each comes to the slices that were
// counted for it. In another, small ones can leave gaps of which none is large enough for
// a large one, whose room would then be given to others.
func (s *Snapshot) unreported() []*Charged {
	held := s.held()
	var out []*Charged
	for i := range s.Charged {
		c := &s.Charged[i]
		if c.Node != "" && held[holding{c.Node, c.Claim.Namespace + "/" + c.Claim.Name}] < total(c.Claim.Sets) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *Charged) int {
		return cmp.Or(a.Claim.Since.Compare(b.Claim.Since), cmp.Compare(a.Claim.UID, b.Claim.UID))
	})
	return out
}

// leaves notes in the room that a pod was asked to go.
func (d *desk) leaves(uid string) {
	for i := range d.s.Charged {
		if c := &d.s.Charged[i]; c.Claim.UID == uid && c.Node != "" {
			d.room.Leaves(c.Node, c.Ask)
		}
	}
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
