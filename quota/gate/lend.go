// SPDX-License-Identifier: Apache-2.0

package gate

import (
	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// Headroom and what is borrowed come of what is left once all who stand within their
// quotas were served and room was kept for them. Else a pod that had to yield would
// be back in its workload's place before the one that it went for.

// lends is the answer to a pod while those within their quotas are served: its turn
// comes when what they leave is lent.
var lends = &refusal{kind: aside}

// lent reports whether a pod of that grade stands on what others leave.
func lent(grade quota.Grade) bool { return grade == quota.Headroom || grade == quota.Borrowed }

// anyLent reports whether one of them does.
func anyLent(grades []quota.Grade) bool {
	for _, g := range grades {
		if lent(g) {
			return true
		}
	}
	return false
}

// lendTo reports whether a workload's turn comes when something is lent. While the
// first of a project waits for its quota nothing of that is lent, but to what takes
// an older pod's place.
func (d *desk) lendTo(it *item) bool {
	if !it.lends {
		return false
	}
	return !d.owed[it.Party.Project] || len(it.holds.generations) > 1 ||
		len(it.holds.generations) == 1 && it.holds.replacedBy(it.pods[len(it.pods)-1].Claim.Generation)
}

// keepsFor refuses to lend quota that others wait for who stand within theirs; nil
// where there is enough for both.
func (g *going) keepsFor(claims []quota.Claim) *refusal {
	if g.after == nil || g.after.Check(claims).OK() {
		return nil
	}
	return &refusal{kind: short, reason: api.ReasonKeptForEarlier,
		message: "the quota that there is is kept for a workload that stands within its own; this one would have more than its own, or than its guaranteed minimum"}
}
