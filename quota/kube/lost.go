// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/quota"
)

// patience is how long the scheduler may find no place for a pod on the node that
// was chosen for it, before another is chosen.
const patience = 2 * time.Minute

// lostPod is a pod that waits for what cannot come, and is to be made again.
type lostPod struct {
	claim             quota.Claim
	node, reason, why string
}

// lost says why the node that was chosen for a pod will not take it; empty where it
// may. Only pods that are made again can be lost: others were not pinned.
func (e *entry) lost(c cluster, now time.Time) string {
	if e.Gated || e.Bound != "" || e.Leaving || !e.owned || e.Node == "" {
		return ""
	}
	usable, known := c.usable[e.Node]
	switch {
	case !known:
		return fmt.Sprintf("node %s is gone", e.Node)
	case !usable:
		return fmt.Sprintf("node %s takes no pods now (not ready, or cordoned)", e.Node)
	case e.unschedulable && e.openFor(now) > patience:
		return fmt.Sprintf("the scheduler has found no place on node %s for %s", e.Node, patience)
	}
	return ""
}

// openFor is for how long the scheduler could have put an open pod somewhere. Where
// nobody has said yet since when its gate is open, it counts as opened just now.
func (e *entry) openFor(now time.Time) time.Duration {
	if e.opened.IsZero() && !e.said(corev1.ConditionTrue) {
		return 0
	}
	return now.Sub(e.Claim.Since)
}
