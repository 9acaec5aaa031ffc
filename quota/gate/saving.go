// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// saving keeps a project's quota for the first that waits, for it or for room, and that
// others have passed for as long as its queue's patience, or go for: else small ones would
// take each part that becomes free before there is enough for a large one, or what it has
// while it gets room. Under FirstAllocating nobody passes.
type saving struct {
	desk *desk
	// after is the book in which those that are saved for are charged; nil while there
	// are none.
	after *quota.Book
	first map[string]*item // who is saved for, by project
}

// begin saves for the pods of a workload that were refused: for the next one, for a gang
// as a whole, and for all for which others went.
func (s *saving) begin(it *item, r *refusal) {
	project := it.Party.Project
	if r.kind == aside || s.first[project] != nil || s.desk.settings(project).Policy != api.FirstScheduling {
		return
	}
	if s.after == nil {
		s.after, s.first = s.desk.book.Clone(), map[string]*item{}
	}
	s.first[project] = it
	most := max(1, it.toStart())
	for i := range it.pods {
		p := &it.pods[i]
		if p.wait == nil || p.wait.kind == aside || most <= 0 && !p.Freed {
			continue
		}
		s.after.Charge(p.Claim, quota.Within)
		most--
	}
}

// refuses says for whom the quota is saved that some claims would take; nil where there
// is enough for both. Only workloads of the same project are held up.
func (s *saving) refuses(claims []quota.Claim) *refusal {
	c := &claims[0]
	first := s.first[c.Party.Project]
	if first == nil || first.Workload == c.Workload || s.after.Check(claims).OK() {
		return nil
	}
	name := "a workload in another namespace"
	if first.Workload.Namespace == c.Namespace {
		name = fmt.Sprintf("%s %s", first.Workload.Kind, first.Workload.Name)
	}
	return &refusal{kind: short, reason: api.ReasonKeptForEarlier, message: fmt.Sprintf(
		"the quota that is left is saved for %s, which goes before it in queue %s", name, c.Party.Project)}
}

// charge notes what was opened meanwhile.
func (s *saving) charge(c quota.Claim, grade quota.Grade) {
	if s.after != nil {
		s.after.Charge(c, grade)
	}
}
