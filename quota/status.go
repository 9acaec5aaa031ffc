// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxListed is how many users and holders a status lists.
const maxListed = 100

// Status is what is held of a quota: all but observedGeneration, waiting and
// conditions (see [Book.Over]). An unknown quota has none.
func (b *Book) Status(quota string) api.ResourceSetQuotaStatus {
	var used, reserved, borrowed, surge sum
	users := map[string]*sum{}
	var workloads []*line
	for _, a := range b.accounts[b.rules.byName[quota]] {
		for l := range a.lines {
			reserved.add(l.kept(), 0)
			if len(l.pods) == 0 {
				continue
			}
			workloads = append(workloads, l)
			used.add(l.charged, len(l.pods))
			user := l.key.party.User
			if users[user] == nil {
				users[user] = &sum{}
			}
			users[user].add(l.charged, len(l.pods))
		}
		s := b.standing(a)
		borrowed.addAll(s.borrowed)
		surge.addAll(s.surge)
	}
	s := api.ResourceSetQuotaStatus{
		Used: used.shown(), Reserved: reserved.amounts(), Borrowed: borrowed.amounts(), Surge: surge.amounts(),
		Users: listUsers(users),
	}
	slices.SortFunc(workloads, byHeld)
	s.LeftOff = int32Of(int64(max(0, len(workloads)-maxListed)))
	for _, l := range workloads[:min(len(workloads), maxListed)] {
		s.Holders = append(s.Holders, l.holder())
	}
	return s
}

// Over lists the limits of a quota above which more stands than surge and
// borrowing explain: they were lowered, or what is held was there before. Nothing
// has to end; nothing new fits.
func (b *Book) Over(quota string) []Excess {
	var out []Excess
	for _, a := range b.accounts[b.rules.byName[quota]] {
		for _, x := range b.standing(a).over {
			bal := spot{a, x.place}.balance()
			out = append(out, Excess{
				Quota: quota, Scope: a.rule.scope, User: a.user, Type: x.kind, Set: x.set,
				Limit: bal.limit, Used: bal.used, Reserved: bal.held - bal.used, Excess: x.n,
			})
		}
	}
	slices.SortFunc(out, func(x, y Excess) int {
		return cmp.Or(cmp.Compare(x.User, y.User), place{x.Type, x.Set}.compare(place{y.Type, y.Set}))
	})
	return out
}

// Excess is one limit above which more stands than may.
type Excess struct {
	Quota string
	Scope api.QuotaScope
	// User, Type, Set and the amounts: see [Shortfall].
	User                  string
	Type                  api.WorkloadType
	Set                   string
	Limit, Used, Reserved int64
	// Excess is what stands above the limit without surge and borrowing.
	Excess int64
}

// Load is how full a project is: the largest part that is held (used, or kept for
// minimums) of any limit of its quotas as a whole. It orders projects; nothing is
// allowed or refused by it. 0 without such a limit or such a quota.
func (b *Book) Load(project string) float64 {
	load := 0.0
	for _, r := range b.rules.project[project] {
		a := b.accounts[r][""]
		if a == nil {
			continue
		}
		load = max(load, a.whole.load())
		for _, p := range a.kinds {
			load = max(load, p.load())
		}
	}
	return load
}

func (p *part) load() float64 {
	load := 0.0
	for _, b := range p.balances {
		if b.limited && b.held > 0 {
			load = max(load, float64(b.held)/float64(b.limit)) // more than nothing of nothing is infinite
		}
	}
	return load
}

// kept is what the line's minimum keeps beyond its charged pods.
func (l *line) kept() amounts {
	var kept amounts
	for _, f := range l.floor {
		if n := f.n - l.charged.of(f.set); n > 0 {
			kept = append(kept, amount{f.set, n})
		}
	}
	return kept
}

// holder describes a line with pods.
func (l *line) holder() api.QuotaHolder {
	held := sum{}
	held.add(l.charged, len(l.pods))
	h := api.QuotaHolder{
		User: l.key.party.User, Namespace: l.key.workload.Namespace, Kind: l.key.workload.Kind,
		Name: l.key.workload.Name, Type: l.key.party.Type, Held: held.amounts(),
	}
	var since, due time.Time
	for _, e := range l.pods {
		since = earlier(since, e.claim.Since)
		due = earlier(due, e.claim.DueBack)
	}
	h.Since = metav1.NewTime(since)
	if !due.IsZero() {
		t := metav1.NewTime(due)
		h.DueBack = &t
	}
	return h
}

// byHeld sorts lines that hold more GPUs first, then more pods.
func byHeld(a, b *line) int {
	return cmp.Or(
		cmp.Compare(b.charged.of(units), a.charged.of(units)),
		cmp.Compare(len(b.pods), len(a.pods)),
		a.key.workload.compare(b.key.workload),
		cmp.Compare(a.key.party.User, b.key.party.User),
		cmp.Compare(a.key.party.Type, b.key.party.Type),
		cmp.Compare(a.key.party.Project, b.key.party.Project),
	)
}
