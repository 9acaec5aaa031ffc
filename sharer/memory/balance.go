// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// balance is who has what of a GPU, and what of it is whose own.
type balance struct {
	usable, spare uint64
	accounts      []*account
}

// account is a slice in the balance. own is what counts as its own now, loan what
// it has beyond its guarantee, keep what it may keep of that.
type account struct {
	Slice
	*record
	own, loan, keep uint64
	new             bool
}

// has is what it has, and what is set aside for it.
func (a *account) has() uint64 { return a.own + a.loan }

// excess is what it is asked to give back.
func (a *account) excess() uint64 { return a.loan - a.keep }

// away reports whether its processes are, or are about to be, without GPU memory.
func (a *account) away() bool { return a.Residence == Leaving || a.Residence == Parked }

func (l *Ladder) balance(s Sample) *balance {
	b := &balance{usable: s.Usable, spare: l.config.spare(s.Usable)}
	for _, sl := range s.Slices {
		sl.Used = min(sl.Used, s.Usable)
		a := &account{Slice: sl, record: l.known[sl.ID], own: sl.Used}
		a.new = s.At < a.arriving
		if sl.borrows() && sl.Used > sl.Guaranteed {
			a.own, a.loan = sl.Guaranteed, sl.Used-sl.Guaranteed
		}
		if s.At < a.claimed {
			a.own = max(a.own, sl.Guaranteed)
		}
		if sl.Residence == Parked {
			a.own, a.loan = 0, 0
		}
		b.accounts = append(b.accounts, a)
	}
	b.share()
	return b
}

// cause is why memory is taken back now; none without a reason.
type cause struct {
	reason Reason
	slice  gpu.SliceID
}

// cause finds who is short while somebody has a loan: first who waits, then who
// is new.
func (b *balance) cause() cause {
	if b.loans() == 0 {
		return cause{}
	}
	for _, a := range b.accounts {
		if a.within() {
			return cause{OwnerShort, a.ID}
		}
	}
	for _, a := range b.accounts {
		if a.new && a.Used < a.Guaranteed && b.owned()+b.loans() > b.usable {
			return cause{NewSlice, a.ID}
		}
	}
	return cause{}
}

func (b *balance) owned() uint64 {
	var sum uint64
	for _, a := range b.accounts {
		sum += a.own
	}
	return sum
}

func (b *balance) loans() uint64 {
	var sum uint64
	for _, a := range b.accounts {
		sum += a.loan
	}
	return sum
}

// lendable is what may be on loan. Where an owner waits although the figures say
// that there is room, the driver knows better.
func (b *balance) lendable() uint64 {
	most := minus(b.usable, b.owned()+b.spare)
	var wanted uint64
	for _, a := range b.accounts {
		if a.within() {
			wanted += a.Wanted
		}
	}
	if wanted > 0 {
		most = min(most, minus(b.loans(), wanted))
	}
	return most
}

// share says who may keep how much of the loans: all have the same at most, and
// those with small ones keep them.
func (b *balance) share() {
	loans := make([]uint64, len(b.accounts))
	for i, a := range b.accounts {
		loans[i] = a.loan
	}
	for i, n := range level(b.lendable(), loans) {
		b.accounts[i].keep = n
	}
}

// parts are what each borrower may take beyond what it has: equal parts of what
// is free, as far as its limit allows.
func (b *balance) parts() []uint64 {
	room := make([]uint64, len(b.accounts))
	for i, a := range b.accounts {
		if a.borrows() && !a.away() {
			room[i] = minus(a.Max, a.has())
		}
	}
	return level(minus(b.lendable(), b.loans()), room)
}

// fits reports whether a checkpointed slice could be back with all that it had.
func (b *balance) fits(a *account) bool {
	return a.Used <= minus(b.usable, b.owned()+b.loans()+b.spare)
}

// busy reports whether a hard step is under way whose effect is not known yet.
func (b *balance) busy(now sharer.Instant, settle time.Duration) bool {
	return slices.ContainsFunc(b.accounts, func(a *account) bool {
		return a.Residence == Leaving || a.Residence == Returning || a.killed && now.Sub(a.end) < settle
	})
}

// coming are those who wait for memory that somebody is to give back.
func (b *balance) coming() []gpu.SliceID {
	var all []gpu.SliceID
	for _, a := range b.accounts {
		if a.within() {
			all = append(all, a.ID)
		}
	}
	return all
}

// level divides an amount so that nobody has more than it wants, and those who
// have less than they want have the same.
func level(amount uint64, wants []uint64) []uint64 {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(wants[i], wants[j]) })
	got := make([]uint64, len(wants))
	for k, i := range order {
		got[i] = min(wants[i], amount/uint64(len(order)-k))
		amount -= got[i]
	}
	return got
}

func minus(a, b uint64) uint64 { return a - min(a, b) }
