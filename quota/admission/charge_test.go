// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"
)

// allFacts are all combinations of who asks, who is named, and what is known.
func allFacts(yield func(Facts)) {
	owners := []*Owner{nil, {Label: "x", Unknown: "is not there"}, {Label: "x"}, {Label: "x", User: "owner"}, {Label: "x", User: "project:nlp"}}
	accounts := []*Account{nil, {Name: "a", Local: true}, {Name: "a", Local: true, User: "carol"}, {Name: "a", Local: true, User: "project:nlp"}, {Name: "a", User: ""}}
	for _, requester := range []string{"alice", "system:admin", "system:node:n", "system:serviceaccount:team:a", "project:vision", ""} {
		for _, given := range []string{"", "alice", "bob", "carol", "owner", "project:vision", "project:nlp", "system:node:n"} {
			for _, owner := range owners {
				for _, account := range accounts {
					for _, flags := range []int{0, 1, 2, 3} {
						yield(Facts{Requester: requester, Given: given, Project: "vision", Owner: owner, Account: account, Trusted: flags&1 > 0, MayAssign: flags&2 > 0})
					}
				}
			}
		}
	}
}

// Whatever the facts: somebody is charged or a sentence says why nobody is; who is
// charged is the requester, whom their account or owner stands for, or whom they may
// name; and the same again changes nothing.
func TestChargeInEveryCase(t *testing.T) {
	charged, refused := 0, 0
	allFacts(func(f Facts) {
		user, refusal := Charge(f)
		if (user == "") == (refusal == nil) {
			t.Fatalf("%+v: user %q, refusal %v", f, user, refusal)
		}
		if refusal != nil {
			refused++
			if refusal.Field == "" || refusal.Reason == "" || refusal.Detail == "" {
				t.Fatalf("%+v: refusal %+v lacks a part", f, refusal)
			}
			return
		}
		charged++
		entitled := []string{}
		switch {
		case f.Trusted && f.Owner != nil:
			entitled = append(entitled, f.here(f.Owner.User))
		case f.Account != nil && f.Account.Local:
			entitled = append(entitled, f.here(f.Account.User))
		case f.Account == nil:
			entitled = append(entitled, f.Requester)
		}
		if f.MayAssign && (f.Owner == nil || !f.Trusted) {
			entitled = append(entitled, f.Given)
		}
		if !slices.Contains(entitled, user) {
			t.Fatalf("%+v: %q is charged, entitled is %q", f, user, entitled)
		}
		if strings.HasPrefix(user, "project:") && user != "project:vision" || strings.HasPrefix(user, "system:") && user != "system:admin" {
			t.Fatalf("%+v: %q is charged", f, user)
		}
		f.Given = user
		if again, refusal := Charge(f); again != user || refusal != nil {
			t.Fatalf("%+v: then %q, %v", f, again, refusal)
		}
	})
	if charged == 0 || refused == 0 {
		t.Errorf("%d charged, %d refused: the facts are too few", charged, refused)
	}
}
