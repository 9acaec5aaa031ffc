// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"strings"
)

// Place is an item's place in the order as numbers: 50,000 items are compared about a
// million times. The item must not change as long as its place is used.
type Place struct {
	// high and low order the first characters of the key; see startDigits.
	high, low uint64
	// odd is true where they do not, as for a key that somebody wrote with other
	// characters.
	odd, promoted bool
	at            int // where the item was in the list of which an order is made
	item          *Item
}

// PlaceOf works out the place of an item.
func PlaceOf(it *Item) Place {
	p := Place{item: it, promoted: it.Promoted != ""}
	var fine, fineToo bool
	if it.Rank == "" {
		p.high = startOfSeconds(seconds(it.Created))
		p.low, fine = startOf(uidPart(it.Workload.UID))
		p.odd = !fine
		return p
	}
	p.high, fine = startOf(it.Rank)
	p.low, fineToo = startOf(it.Rank[min(len(it.Rank), startDigits):])
	p.odd = !fine || !fineToo
	return p
}

// Compare is the order within a project: see [Compare].
func (p *Place) Compare(other *Place) int {
	if p.promoted || other.promoted {
		if c := p.comparePromoted(other); c != 0 {
			return c
		}
	}
	return p.compareKeys(other)
}

func (p *Place) compareKeys(other *Place) int {
	if !p.odd && !other.odd {
		if p.high != other.high {
			return cmp.Compare(p.high, other.high)
		}
		if p.low != other.low {
			return cmp.Compare(p.low, other.low)
		}
	}
	if c := strings.Compare(p.item.Key(), other.item.Key()); c != 0 {
		return c
	}
	return strings.Compare(p.item.Workload.UID, other.item.Workload.UID)
}

// comparePromoted is 0 between items that are both not promoted, or by the same
// key.
func (p *Place) comparePromoted(other *Place) int {
	a, b := p.item.Promoted, other.item.Promoted
	switch {
	case a == b:
		return 0
	case b == "":
		return -1
	case a == "":
		return 1
	}
	return strings.Compare(a, b)
}
