// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

// plain is what a book should hold, in the plainest form.
type plain struct {
	quotas   []api.StorageQuota
	existing map[string]Claim
	reserved map[string]Reservation
	gone     map[string]bool
}

// most is the total of a project, or of a user in it, by definition: for each name the
// largest of all that may be there.
func (p *plain) most(project, user string) (used, held int64) {
	usedBy, heldBy := map[string]int64{}, map[string]int64{}
	counts := func(c Claim) bool { return c.Owner.Project == project && (user == "" || c.Owner.User == user) }
	for _, c := range p.existing {
		if counts(c) {
			usedBy[c.slotID()] = max(usedBy[c.slotID()], c.Bytes)
			heldBy[c.slotID()] = max(heldBy[c.slotID()], c.Bytes)
		}
	}
	for _, r := range p.reserved {
		if counts(r.Claim) {
			heldBy[r.Claim.slotID()] = max(heldBy[r.Claim.slotID()], r.Claim.Bytes)
		}
	}
	for _, n := range usedBy {
		used += n
	}
	for _, n := range heldBy {
		held += n
	}
	return used, held
}

// anew is a book made of what there is, in one go.
func (p *plain) anew() *Book {
	b := NewBook(p.quotas)
	for _, c := range p.existing {
		b.Charge(c)
	}
	for _, r := range p.reserved {
		b.Reserve(r)
	}
	return b
}

// TestBookIsWhatWasPutIn plays random changes and compares the book with its
// definition and with a book made anew.
func TestBookIsWhatWasPutIn(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := &plain{existing: map[string]Claim{}, reserved: map[string]Reservation{}, gone: map[string]bool{}}
		quotas := []api.StorageQuota{
			quotaOf("each", api.QuotaScope{Project: "vision", EachUser: true}, "40Gi", 6, "fast", "20Gi"),
			quotaOf("u1", api.QuotaScope{User: "u1"}, "30Gi", -1),
			quotaOf("vision", api.QuotaScope{Project: "vision"}, "90Gi", 12, "fast", "50Gi", "slow", "60Gi"),
		}
		p.quotas = quotas
		b := NewBook(quotas)
		for range 400 {
			p.step(rng, b)
		}
		p.check(t, seed, b)
		if t.Failed() {
			return
		}
	}
}

func (p *plain) step(rng *rand.Rand, b *Book) {
	random := func() Claim {
		n := rng.IntN(30)
		return Claim{
			UID: fmt.Sprintf("uid%d", rng.IntN(60)), Namespace: "team", Name: fmt.Sprintf("n%d", n),
			Owner: Owner{[]string{"vision", "nlp"}[rng.IntN(2)], []string{"", "u1", "u2", "u3"}[rng.IntN(4)]},
			Class: []string{"", "fast", "slow"}[rng.IntN(3)], Bytes: int64(rng.IntN(10)) * gi,
		}
	}
	c := random()
	switch rng.IntN(7) {
	case 0, 1:
		if !p.gone[c.UID] && !p.taken(c) {
			p.existing[c.UID] = c
			b.Charge(c)
		}
	case 2, 3:
		r := Reservation{Key: fmt.Sprintf("%s:%d", c.UID, rng.IntN(2)), Claim: c}
		if have, ok := p.existing[c.UID]; ok {
			r.Claim.Name = have.Name
		}
		b.Reserve(r)
		delete(p.reserved, r.Key)
		if !p.gone[c.UID] {
			p.reserved[r.Key] = r
		}
	case 4:
		if have, ok := p.existing[c.UID]; ok {
			delete(p.existing, c.UID)
			p.gone[c.UID] = true
			for key, r := range p.reserved {
				if r.Claim.UID == c.UID && r.Claim.slotID() == have.slotID() {
					delete(p.reserved, key)
				}
			}
			b.Release(c.UID)
		}
	case 5:
		delete(p.existing, c.UID)
		b.Withdraw(c.UID)
	case 6:
		var keep []Reservation
		for key, r := range p.reserved {
			if rng.IntN(4) > 0 && !p.gone[r.Claim.UID] {
				keep = append(keep, r)
			} else {
				delete(p.reserved, key)
			}
		}
		b.SetReservations(keep)
	}
}

// taken reports whether another claim has the name.
func (p *plain) taken(c Claim) bool {
	for uid, have := range p.existing {
		if uid != c.UID && have.slotID() == c.slotID() {
			return true
		}
	}
	return false
}

func (p *plain) check(t *testing.T, seed uint64, b *Book) {
	t.Helper()
	fresh := p.anew()
	for _, q := range p.quotas {
		if got, want := b.Status(q.Name), fresh.Status(q.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: quota %s is %+v, made anew %+v", seed, q.Name, got, want)
		}
		if got, want := b.Over(q.Name), fresh.Over(q.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: over %s: %+v, made anew %+v", seed, q.Name, got, want)
		}
	}
	for user, limit := range map[string]int64{"u2": 40 * gi, "u3": 40 * gi, "": 90 * gi} {
		_, held := p.most("vision", user)
		l := &b.account("vision").whole
		if user != "" {
			l, _ = b.account("each").limited(user)
		}
		if got := l.held.bytes.int64(); got != held {
			t.Errorf("seed %d: %q holds %d, by definition %d", seed, user, got, held)
		}
		// At the edge: what is left fits in the total, a byte more does not.
		left := max(limit-held, 0)
		asker := Claim{UID: "new", Namespace: "team", Name: "new", Owner: Owner{"vision", "u9"}, Class: "none", Bytes: left}
		if user != "" {
			asker.Owner.User = user
		}
		for _, s := range b.Check("new", asker) {
			if s.Measure == Total && s.Scope.EachUser == (user != "") && left > 0 && s.Limit == limit {
				t.Errorf("seed %d: %d left for %q do not fit: %+v", seed, left, user, s)
			}
		}
		asker.Bytes++
		found := false
		for _, s := range b.Check("new", asker) {
			found = found || s.Measure == Total && s.Scope.EachUser == (user != "")
		}
		if !found {
			t.Errorf("seed %d: a byte more than the %d left for %q fits", seed, left, user)
		}
	}
}
