// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/placement"
)

// kind is what a refusal means for those behind.
type kind int

const (
	aside  kind = iota // it waits for something that its turn would not give
	short              // it waits for the project's quota
	noRoom             // it waits for room on nodes
)

// refusal is why pods wait.
type refusal struct {
	kind            kind
	reason, message string
	// asks are what found no room.
	asks []placement.Ask
}

// serve opens as many pods of a workload as can be, in order. It returns the
// weightiest of the refusals; nil where there was none.
func (d *desk) serve(it *item) *refusal {
	pods := d.left(it)
	if need := it.toStart(); need > 0 {
		refused, rest := d.serveGang(it, pods, need)
		if refused != nil || rest == nil {
			return refused
		}
		pods = rest
	}
	var worst, last *refusal
	for _, p := range pods {
		if d.full() {
			d.plan.More = true
			return worst
		}
		if !p.kept {
			d.ask(it, p)
		}
		if p.wait == nil || p.wait == last {
			continue
		}
		last = p.wait
		if worst == nil || last.kind > worst.kind {
			worst = last
		}
	}
	return worst
}

// left are the pods of a workload that are not opened yet; once it is lent, those
// that have no answer yet.
func (d *desk) left(it *item) []*waiter {
	out := make([]*waiter, 0, len(it.pods))
	for i := range it.pods {
		if p := &it.pods[i]; p.closed() && (!d.lending || p.wait == nil) {
			out = append(out, p)
		}
	}
	return out
}

// serveGang opens the next need pods together or none of them. rest are the pods
// beyond the gang; nil where it did not start.
func (d *desk) serveGang(it *item, pods []*waiter, need int64) (refused *refusal, rest []*waiter) {
	waitAll := func(r *refusal) (*refusal, []*waiter) {
		for _, p := range pods {
			p.wait = r
		}
		return r, nil
	}
	if int64(len(pods)) < need {
		return waitAll(&refusal{kind: aside, reason: api.ReasonGangIncomplete, message: fmt.Sprintf(
			"%d pods of %s %s start together, and %d of them do not exist yet, or another system holds them; they are made by its controller, see its events",
			it.gang, it.Workload.Kind, it.Workload.Name, need-int64(len(pods)))})
	}
	gang := pods[:need]
	if gang[0].kept {
		return gang[0].wait, nil
	}
	if len(d.plan.Open) > 0 && len(d.plan.Open)+len(gang) > d.most {
		d.plan.More = true
		return nil, nil
	}
	claims, asks := make([]quota.Claim, need), make([]placement.Ask, need)
	for i, p := range gang {
		claims[i], asks[i] = p.Claim, p.Ask
	}
	verdict := d.book.Check(claims)
	if !verdict.OK() {
		r := d.refuse(gang[0].Pending, verdict.Shortfalls)
		d.going.makeRoom(it, claims, asks, r)
		return waitAll(r)
	}
	if r := d.saving.refuses(claims); r != nil {
		return waitAll(r)
	}
	if anyLent(verdict.Grades) {
		if !d.lending {
			it.lends = true
			return nil, nil
		}
		if r := d.going.keepsFor(claims); r != nil {
			return waitAll(r)
		}
	}
	seats, why := d.room.PlaceAll(asks)
	if why != nil {
		for _, p := range gang {
			p.within = within(verdict.Grades)
		}
		return waitAll(noSeat(why, asks))
	}
	for i, p := range gang {
		d.open(it, p, verdict.Grades[i], seats[i], true)
	}
	return nil, pods[need:]
}

// ask opens one pod, notes why it waits, or puts it off until something is lent.
func (d *desk) ask(it *item, p *waiter) {
	if p.wait = d.try(it, p); p.wait == lends {
		p.wait, it.lends = nil, true
	}
}

// try opens one pod, or says why not.
func (d *desk) try(it *item, p *waiter) *refusal {
	if !d.lending && !it.entitled() {
		return lends
	}
	key := quotaKeyOf(it, p.Pending)
	r := d.shared.quota[key]
	if r == nil || (r == lends && d.lending) {
		verdict := d.book.Check([]quota.Claim{p.Claim})
		if verdict.OK() {
			if r = d.saving.refuses([]quota.Claim{p.Claim}); r == nil {
				return d.grant(it, p, verdict.Grades[0])
			}
			d.shared.quota[key] = r
			return r
		}
		r = d.refuse(p.Pending, verdict.Shortfalls)
		d.shared.quota[key] = r
	}
	if r != lends && r.reason != api.ReasonKeptForEarlier {
		d.going.makeRoom(it, []quota.Claim{p.Claim}, []placement.Ask{p.Ask}, r)
	}
	return r
}

// grant opens a pod that has quota, if it is its turn and a node can hold it.
func (d *desk) grant(it *item, p *waiter, grade quota.Grade) *refusal {
	if !lent(grade) {
		return d.seat(it, p, grade)
	}
	if !d.lending {
		d.shared.quota[quotaKeyOf(it, p.Pending)] = lends
		return lends
	}
	if r := d.going.keepsFor([]quota.Claim{p.Claim}); r != nil {
		return r
	}
	return d.seat(it, p, grade)
}

// trySurge opens a pod where that takes a replacement's place above the limit, and
// leaves it to its turn otherwise; it reports whether it did.
func (d *desk) trySurge(it *item, p *waiter) bool {
	verdict := d.book.Check([]quota.Claim{p.Claim})
	return verdict.OK() && verdict.Grades[0] == quota.Surge && d.seat(it, p, quota.Surge) == nil
}

// seat opens a pod where a node can hold it.
func (d *desk) seat(it *item, p *waiter, grade quota.Grade) *refusal {
	p.within = grade == quota.Within
	key := d.shared.seatKey(&p.Ask)
	if r := d.shared.seats[key]; r != nil {
		return r
	}
	seat, why := d.room.Place(p.Ask)
	if why != nil {
		r := noSeat(why, []placement.Ask{p.Ask})
		d.shared.seats[key] = r
		return r
	}
	d.open(it, p, grade, seat, false)
	return nil
}

func noSeat(why *placement.Why, asks []placement.Ask) *refusal {
	r := &refusal{kind: noRoom, reason: why.Reason, message: why.Message, asks: asks}
	if why.Reason == api.ReasonNoNodeHasSet || why.Reason == api.ReasonUnknownSet {
		r.kind = aside
	}
	return r
}

func (d *desk) open(it *item, p *waiter, grade quota.Grade, seat placement.Seat, gang bool) {
	claim := p.Claim
	claim.Since = d.s.Now
	d.book.Charge(claim, grade)
	if d.going.after != nil {
		d.going.after.Charge(claim, grade)
	}
	d.saving.charge(claim, grade)
	d.room.Take(seat)
	it.holds.add(&claim)
	p.opened, p.wait = true, nil
	d.plan.Open = append(d.plan.Open, Opening{Claim: claim, Grade: grade, Seat: seat, Gang: gang})
}

// refuse turns what is short into a refusal. Whoever waits for their own limit, or
// asks for more than a limit will ever leave, steps aside, whatever else is short.
func (d *desk) refuse(p *Pending, shortfalls []quota.Shortfall) *refusal {
	main, kind := &shortfalls[0], short
	for i := range shortfalls {
		s := &shortfalls[i]
		if s.Asked > s.Limit {
			main, kind = s, aside
		}
		if s.Reason() == api.ReasonUserQuotaReached {
			main, kind = s, aside
			break
		}
	}
	sees := d.sight()(p.Claim.Namespace, p.Claim.Party.User)
	return &refusal{kind: kind, reason: main.Reason(), message: main.Sentence(sees, d.s.Now)}
}
