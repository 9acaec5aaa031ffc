// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxGone is how many deleted claims are remembered. Who is forgotten keeps its
// reservation a little longer.
const maxGone = 4096

// Book is the quotas and what is charged to them. It is not safe for use by several
// goroutines at once.
type Book struct {
	accounts []*account // by name
	// bound remembers which accounts bind an owner.
	bound map[Owner][]*account
	slots map[string]*slot
	// existing and reserved lead from a UID, or a reservation's key, to the slot.
	existing, reserved map[string]string
	gone               map[string]bool
	goneOrder          []string
}

// NewBook makes a book in which nothing is charged.
func NewBook(quotas []api.StorageQuota) *Book {
	b := &Book{slots: map[string]*slot{}, existing: map[string]string{}, reserved: map[string]string{}, gone: map[string]bool{}}
	b.SetQuotas(quotas)
	return b
}

// SetQuotas replaces the quotas and charges everything to the new ones.
func (b *Book) SetQuotas(quotas []api.StorageQuota) {
	b.accounts, b.bound = nil, map[Owner][]*account{}
	for _, q := range quotas {
		b.accounts = append(b.accounts, &account{
			name: q.Name, scope: q.Spec.Scope, limits: limitsOf(q.Spec.Limits), users: map[string]*line{},
		})
	}
	slices.SortFunc(b.accounts, func(a, c *account) int { return strings.Compare(a.name, c.name) })
	for _, s := range b.slots {
		b.post(s, (*sum).add)
	}
}

// Charge counts a claim that exists, in place of what is known of it.
func (b *Book) Charge(c Claim) {
	b.put(b.existing, candidate{key: c.UID, claim: c})
}

// Withdraw stops counting a claim that exists, and may be charged again.
func (b *Book) Withdraw(uid string) { b.take(b.existing, uid, false) }

// Release stops counting a claim that is gone for good, and what was reserved for it.
func (b *Book) Release(uid string) {
	id, known := b.existing[uid]
	b.take(b.existing, uid, false)
	if !b.gone[uid] {
		b.gone[uid] = true
		b.goneOrder = append(b.goneOrder, uid)
		if len(b.goneOrder) > maxGone {
			delete(b.gone, b.goneOrder[0])
			b.goneOrder = b.goneOrder[1:]
		}
	}
	if s := b.slots[id]; known && s != nil {
		for _, c := range slices.Clone(s.candidates) {
			if c.reserved && c.claim.UID == uid {
				b.take(b.reserved, c.key, true)
			}
		}
	}
}

// Reserve counts a reservation, in place of one of the same key, unless its claim is
// gone.
func (b *Book) Reserve(r Reservation) {
	if b.gone[r.Claim.UID] {
		b.take(b.reserved, r.Key, true)
		return
	}
	b.put(b.reserved, candidate{key: r.Key, claim: r.Claim, reserved: true})
}

// SetReservations makes those of a record the ones that count.
func (b *Book) SetReservations(all []Reservation) {
	wanted := make(map[string]bool, len(all))
	for _, r := range all {
		wanted[r.Key] = true
	}
	for key := range b.reserved {
		if !wanted[key] {
			b.take(b.reserved, key, true)
		}
	}
	for _, r := range all {
		if have, ok := b.reservation(r.Key); !ok || have != r.Claim {
			b.Reserve(r)
		}
	}
}

func (b *Book) reservation(key string) (Claim, bool) {
	if s := b.slots[b.reserved[key]]; s != nil {
		for _, c := range s.candidates {
			if c.reserved && c.key == key {
				return c.claim, true
			}
		}
	}
	return Claim{}, false
}

// Named returns the claim of a name that exists.
func (b *Book) Named(namespace, name string) (Claim, bool) {
	if s := b.slots[Claim{Namespace: namespace, Name: name}.slotID()]; s != nil {
		for _, c := range s.candidates {
			if !c.reserved {
				return c.claim, true
			}
		}
	}
	return Claim{}, false
}

// StateOf says what is known of a reservation and, where its claim meets it, the
// claim's version.
func (b *Book) StateOf(r Reservation) (State, uint64) {
	if b.gone[r.Claim.UID] {
		return Gone, 0
	}
	if s := b.slots[b.existing[r.Claim.UID]]; s != nil {
		for _, c := range s.candidates {
			if !c.reserved && r.metBy(c.claim) {
				return Met, c.claim.Version
			}
		}
	}
	return Unseen, 0
}

// Binds reports whether any quota binds an owner.
func (b *Book) Binds(o Owner) bool { return len(b.accountsOf(o)) > 0 }

func (b *Book) accountsOf(o Owner) []*account {
	found, known := b.bound[o]
	if !known {
		for _, a := range b.accounts {
			if a.binds(o) {
				found = append(found, a)
			}
		}
		b.bound[o] = found
	}
	return found
}

// put places a candidate, after taking it from the slot where it was.
func (b *Book) put(index map[string]string, n candidate) {
	id := n.claim.slotID()
	if was, known := index[n.key]; known && was != id {
		b.take(index, n.key, n.reserved)
	}
	s := b.slots[id]
	if s == nil {
		s = &slot{}
		b.slots[id] = s
	}
	b.post(s, (*sum).remove)
	s.put(n)
	b.post(s, (*sum).add)
	index[n.key] = id
}

func (b *Book) take(index map[string]string, key string, reserved bool) {
	id, known := index[key]
	if !known {
		return
	}
	delete(index, key)
	s := b.slots[id]
	if s == nil {
		return
	}
	b.post(s, (*sum).remove)
	s.drop(func(c candidate) bool { return c.key == key && c.reserved == reserved })
	b.post(s, (*sum).add)
	if len(s.candidates) == 0 {
		delete(b.slots, id)
	}
}

// post enters what a slot takes with every account that binds one of its owners.
func (b *Book) post(s *slot, enter func(*sum, part)) {
	var done []*account
	for _, o := range s.owners() {
		for _, a := range b.accountsOf(o) {
			if !slices.Contains(done, a) {
				done = append(done, a)
				a.post(s, enter)
			}
		}
	}
}
