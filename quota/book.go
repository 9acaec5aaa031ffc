// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"maps"

	api "aipub.io/aipub/api/v1alpha1"
)

// Book has the quotas and what is charged to them. [Book.Check],
// [Book.CheckFloor], [Book.Yield], [Book.Status], [Book.Over], [Book.Load] and
// [Book.Clone] only read and may run side by side; nothing else may run beside
// [Book.Charge], [Book.Release], [Book.Reserve] and [Book.Unreserve].
//
// A book depends on what is in it and not on the order in which it came: one that
// was kept up to date equals one that was made anew from a list.
type Book struct {
	rules    *rules
	sizes    Sizes
	pods     map[string]*entry // by UID
	lines    map[key]*line
	floors   map[Workload]key
	bindings map[who][]*account
	accounts map[*rule]map[string]*account // by person, "" where the rule is not eachUser's
}

// NewBook makes a book of these quotas with nothing charged. A quota whose scope
// names neither project nor user binds nobody.
func NewBook(quotas []api.ResourceSetQuota, sizes Sizes) *Book {
	b := &Book{
		rules:    newRules(quotas),
		sizes:    sizes.clone(),
		pods:     map[string]*entry{},
		lines:    map[key]*line{},
		floors:   map[Workload]key{},
		bindings: map[who][]*account{},
		accounts: map[*rule]map[string]*account{},
	}
	for _, r := range b.rules.all {
		b.accounts[r] = map[string]*account{}
		if !r.scope.EachUser {
			b.accounts[r][""] = newAccount(r, r.scope.User)
		}
	}
	return b
}

// Charge charges a claim to every quota that binds it, whether or not there is
// room: what is open is charged. The grade is how its gate was opened. A claim
// with the UID of a charged one takes its place. The book keeps c.Sets: the caller
// does not change it any more.
func (b *Book) Charge(c Claim, g Grade) {
	b.Release(c.UID)
	e := &entry{claim: c, grade: g, key: key{c.Workload, c.Party}, asks: b.sizes.amountsOf(c.Sets, 1)}
	b.pods[c.UID] = e
	b.line(e.key).open(e)
}

// Release takes a charge away. An unknown UID is nothing.
func (b *Book) Release(uid string) {
	e, ok := b.pods[uid]
	if !ok {
		return
	}
	delete(b.pods, uid)
	l := b.lines[e.key]
	l.end(e)
	b.drop(l)
}

// marked says whether the pod was opened above a limit.
func (e *entry) marked() bool { return e.grade == Surge || e.grade == Borrowed }

// Reserve keeps an Operation's minimum, whether or not there is room: see
// [Book.CheckFloor]. It takes the place of the workload's former one.
func (b *Book) Reserve(f Floor) {
	b.Unreserve(f.Workload)
	k := key{f.Workload, f.Party}
	b.floors[f.Workload] = k
	b.line(k).guarantee(b.sizes.amountsOf(f.Sets, f.MinReplicas), true)
}

// Unreserve gives up a workload's minimum. One without is nothing.
func (b *Book) Unreserve(w Workload) {
	k, ok := b.floors[w]
	if !ok {
		return
	}
	delete(b.floors, w)
	l := b.lines[k]
	l.guarantee(nil, false)
	b.drop(l)
}

// line finds or makes the line of a workload.
func (b *Book) line(k key) *line {
	if l, ok := b.lines[k]; ok {
		return l
	}
	l := &line{key: k, accounts: b.bound(who{k.party.Project, k.party.User})}
	b.lines[k] = l
	for _, a := range l.accounts {
		a.lines[l] = struct{}{}
	}
	return l
}

// drop forgets a line on which nothing stands any more.
func (b *Book) drop(l *line) {
	if !l.idle() {
		return
	}
	delete(b.lines, l.key)
	for _, a := range l.accounts {
		delete(a.lines, l)
	}
}

// bound finds or makes the accounts that somebody is charged to.
func (b *Book) bound(w who) []*account {
	if as, ok := b.bindings[w]; ok {
		return as
	}
	as := b.peek(w)
	for _, a := range as {
		b.accounts[a.rule][a.key()] = a
	}
	b.bindings[w] = as
	return as
}

// peek is bound without writing anything down: the accounts of a person who is new
// to eachUser quotas are made for the caller alone.
func (b *Book) peek(w who) []*account {
	if as, ok := b.bindings[w]; ok {
		return as
	}
	bind := b.rules.binding(w)
	as := make([]*account, len(bind))
	for i, r := range bind {
		if r.scope.EachUser {
			as[i] = newAccount(r, w.user) // no other binding has it
		} else {
			as[i] = b.accounts[r][""]
		}
	}
	return as
}

// key tells the accounts of one rule apart.
func (a *account) key() string {
	if a.rule.scope.EachUser {
		return a.user
	}
	return ""
}

// Clone copies the book; changes to either are not seen by the other.
func (b *Book) Clone() *Book {
	c := &Book{
		rules:    b.rules,
		sizes:    b.sizes,
		pods:     maps.Clone(b.pods),
		lines:    make(map[key]*line, len(b.lines)),
		floors:   maps.Clone(b.floors),
		bindings: make(map[who][]*account, len(b.bindings)),
		accounts: make(map[*rule]map[string]*account, len(b.accounts)),
	}
	lines := make(map[*line]*line, len(b.lines))
	for k, l := range b.lines {
		lines[l] = l.clone()
		c.lines[k] = lines[l]
	}
	accounts := map[*account]*account{}
	for r, people := range b.accounts {
		c.accounts[r] = make(map[string]*account, len(people))
		for user, a := range people {
			accounts[a] = a.clone(lines)
			c.accounts[r][user] = accounts[a]
		}
	}
	for w, as := range b.bindings {
		c.bindings[w] = translate(as, accounts)
	}
	for _, l := range c.lines {
		l.accounts = c.bindings[who{l.key.party.Project, l.key.party.User}]
	}
	return c
}

func translate(as []*account, to map[*account]*account) []*account {
	out := make([]*account, len(as))
	for i, a := range as {
		out[i] = to[a]
	}
	return out
}
