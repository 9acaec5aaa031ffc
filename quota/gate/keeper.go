// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Keeper makes decisions one after another, each as Decide would, and keeps the book
// from one to the next: with many charged pods, of which few change, that is most of
// the work. The zero value is ready. It is not safe for concurrent use.
type Keeper struct {
	book    *quota.Book
	quotas  []api.ResourceSetQuota
	sizes   quota.Sizes
	charged map[string]*standing // by UID
	floors  []quota.Floor        // reserved now
	round   uint64
}

// standing is what the book has of a pod.
type standing struct {
	claim quota.Claim
	grade quota.Grade
	round uint64 // in which it was last seen
}

// Decide is [Decide].
func (k *Keeper) Decide(s Snapshot, most int) Plan {
	k.update(&s)
	d := newDesk(&s, most, k.book, k.floors)
	d.freed()
	d.guaranteed()
	d.inTurn()
	plan := d.finish()
	// What was opened is charged once the next snapshot says so.
	for i := range plan.Open {
		k.book.Release(plan.Open[i].Claim.UID)
	}
	return plan
}

// Book is [Snapshot.Book]. It is the keeper's own: to be read only, and until the next
// call.
func (k *Keeper) Book(s *Snapshot) *quota.Book {
	k.update(s)
	return k.book
}

// update makes the book that of a snapshot.
func (k *Keeper) update(s *Snapshot) {
	k.round++
	if k.book == nil || !maps.Equal(k.sizes, s.Sizes) || !sameQuotas(k.quotas, s.Quotas) {
		k.book, k.charged, k.floors = quota.NewBook(s.Quotas, s.Sizes), map[string]*standing{}, nil
		k.quotas, k.sizes = s.Quotas, s.Sizes
	}
	// Minimums are judged anew each time, on what is charged.
	for _, f := range k.floors {
		k.book.Unreserve(f.Workload)
	}
	for i := range s.Charged {
		if c := &s.Charged[i]; !c.Unmanaged {
			k.charge(c)
		}
	}
	for uid, was := range k.charged {
		if was.round != k.round {
			k.book.Release(uid)
			delete(k.charged, uid)
		}
	}
	k.floors = reserve(k.book, s.Floors)
}

func (k *Keeper) charge(c *Charged) {
	was := k.charged[c.Claim.UID]
	switch {
	case was == nil:
		was = &standing{}
		k.charged[c.Claim.UID] = was
	case was.grade == c.Grade && sameClaim(&was.claim, &c.Claim):
		was.round = k.round
		return
	}
	k.book.Charge(c.Claim, c.Grade)
	*was = standing{claim: c.Claim, grade: c.Grade, round: k.round}
}

func sameClaim(a, b *quota.Claim) bool {
	return a.Workload == b.Workload && a.Party == b.Party && a.Generation == b.Generation && a.Since.Equal(b.Since) &&
		a.DueBack.Equal(b.DueBack) && a.Stays == b.Stays && a.Name == b.Name && a.Namespace == b.Namespace && maps.Equal(a.Sets, b.Sets)
}

func sameQuotas(a, b []api.ResourceSetQuota) bool {
	return slices.EqualFunc(a, b, func(x, y api.ResourceSetQuota) bool {
		return x.Name == y.Name && equality.Semantic.DeepEqual(x.Spec, y.Spec)
	})
}
