// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
)

// maxFront is how many workloads of a queue its status lists.
const maxFront = 50

// queueView is what waits, by project.
type queueView struct {
	projects map[string]*waitingProject
	heads    map[string]gate.Head
}

type waitingProject struct {
	workloads, pods int32
	front           []api.QueueEntry
	last            quota.Workload
	total           *amount // of the last entry
}

// queueStatuses goes through the waiting pods, which come workload by workload in
// the order of their queues.
func queueStatuses(v *view, plan *gate.Plan) queueView {
	promoted := map[string]bool{}
	for i := range v.Pending {
		if p := &v.Pending[i]; p.Promoted != "" {
			promoted[p.Claim.UID] = true
		}
	}
	q := queueView{projects: map[string]*waitingProject{}, heads: plan.Heads}
	for i := range plan.Wait {
		w := &plan.Wait[i]
		project := w.Claim.Party.Project
		p := q.projects[project]
		if p == nil {
			p = &waitingProject{}
			q.projects[project] = p
		}
		p.add(w, v.Sizes, promoted[w.Claim.UID])
	}
	return q
}

func (p *waitingProject) add(w *gate.Waiting, sizes quota.Sizes, promoted bool) {
	p.pods++
	if p.workloads == 0 || p.last != w.Claim.Workload {
		p.workloads++
		p.last, p.total = w.Claim.Workload, &amount{}
		if len(p.front) < maxFront {
			p.front = append(p.front, newEntry(w, promoted))
		}
	}
	if int(p.workloads) > len(p.front) {
		return
	}
	p.total.add(w.Claim.Sets, sizes)
	e := &p.front[len(p.front)-1]
	e.Pods++
	if w.Claim.Since.Before(e.Since.Time) {
		e.Since = metav1.NewTime(w.Claim.Since)
	}
	e.GPU = p.total.show().GPU
}

func newEntry(w *gate.Waiting, promoted bool) api.QueueEntry {
	one := &amount{}
	one.add(w.Claim.Sets, nil)
	return api.QueueEntry{
		Namespace: w.Claim.Workload.Namespace, Kind: w.Claim.Workload.Kind, Name: w.Claim.Workload.Name,
		User: w.Claim.Party.User, Type: w.Claim.Party.Type, Sets: one.show().Sets,
		Since: metav1.NewTime(w.Claim.Since), Promoted: promoted, Reason: w.Reason, Message: w.Message,
	}
}

// of is the status of one queue.
func (v queueView) of(q *api.PriorityQueue, now time.Time) api.PriorityQueueStatus {
	status := api.PriorityQueueStatus{ObservedGeneration: q.Generation, Conditions: slices.Clone(q.Status.Conditions)}
	if p := v.projects[q.Name]; p != nil {
		status.Workloads, status.Pods, status.Front = p.workloads, p.pods, p.front
	}
	blocked := metav1.Condition{Type: api.ConditionHeadBlocked, Status: metav1.ConditionFalse, Reason: api.ReasonApplied, Message: "nobody waits behind the head"}
	if head, is := v.heads[q.Name]; is {
		blocked.Status, blocked.Reason = metav1.ConditionTrue, head.Reason
		blocked.Message = fmt.Sprintf("%s %s/%s waits, and the others behind it: %s", head.Workload.Kind, head.Workload.Namespace, head.Workload.Name, head.Message)
	}
	for _, c := range []metav1.Condition{
		{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied, Message: "the queue is in force"}, blocked,
	} {
		c.ObservedGeneration, c.LastTransitionTime = q.Generation, metav1.NewTime(now)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}
