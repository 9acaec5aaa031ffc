// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
)

// finish says of every pod that stays closed why it does.
func (d *desk) finish() Plan {
	d.plan.Wait = make([]Waiting, 0, len(d.s.Pending)-len(d.plan.Open))
	var b behind
	position := 0
	for n, it := range d.items.all {
		if project := it.Party.Project; n == 0 || project != b.project {
			position = 0
			b = behind{desk: d, project: project}
			b.head, b.blocked = d.plan.Heads[project]
		}
		counted := false
		for i := range it.pods {
			p := &it.pods[i]
			if p.opened {
				continue
			}
			if !counted {
				position, counted = position+1, true
			}
			d.plan.Wait = append(d.plan.Wait, b.waiting(p, position))
		}
	}
	return d.plan
}

// behind are those of one project that were not looked at.
type behind struct {
	desk    *desk
	project string
	head    Head
	blocked bool
	// namespace of the last one, and what its people are told.
	namespace, message string
}

func (b *behind) waiting(p *waiter, position int) Waiting {
	w := Waiting{Claim: p.Claim, Position: position}
	switch {
	case p.wait != nil:
		w.Reason, w.Message = p.wait.reason, p.wait.message
	case !b.blocked:
		w.Reason, w.NotYet, w.Message = api.ReasonBehindHead, true, "others go first; its turn comes in a moment"
	default:
		if b.message == "" || b.namespace != p.Claim.Namespace {
			b.namespace, b.message = p.Claim.Namespace, b.desk.behind(p.Pending, b.head)
		}
		w.Reason, w.Message = api.ReasonBehindHead, b.message
	}
	return w
}

// behind says for whom a pod waits.
func (d *desk) behind(p *Pending, head Head) string {
	name := "a workload in another namespace"
	if head.Workload.Namespace == p.Claim.Namespace {
		name = fmt.Sprintf("%s %s", head.Workload.Kind, head.Workload.Name)
	}
	return fmt.Sprintf("%s is the head of queue %s and goes first (policy FirstAllocating); it waits for %s. \"kubectl aipub queue %s\" shows the order",
		name, p.Claim.Party.Project, head.Reason, p.Claim.Party.Project)
}
