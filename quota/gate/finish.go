// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"

	api "aipub.io/aipub/api/v1alpha1"
)

// finish says of every pod that stays closed why it does.
func (d *desk) finish() Plan {
	d.plan.Wait = make([]Waiting, 0, len(d.s.Pending)-len(d.plan.Open))
	behind := map[[2]string]string{}
	project, position := "", 0
	for _, it := range d.items.all {
		if it.Party.Project != project {
			project, position = it.Party.Project, 0
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
			d.plan.Wait = append(d.plan.Wait, d.waiting(p, position, behind))
		}
	}
	return d.plan
}

func (d *desk) waiting(p *waiter, position int, behind map[[2]string]string) Waiting {
	w := Waiting{Claim: p.Claim, Position: position}
	if p.wait != nil {
		w.Reason, w.Message = p.wait.reason, p.wait.message
		return w
	}
	w.Reason = api.ReasonBehindHead
	project := p.Claim.Party.Project
	head, blocked := d.plan.Heads[project]
	if !blocked {
		w.NotYet, w.Message = true, "others go first; its turn comes in a moment"
		return w
	}
	key := [2]string{project, p.Claim.Namespace}
	if behind[key] == "" {
		behind[key] = d.behind(p.Pending, head)
	}
	w.Message = behind[key]
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
