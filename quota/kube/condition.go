// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
	"aipub.io/aipub/quota/gate"
	"aipub.io/aipub/quota/objects"
)

const (
	// frontPods is how many waiting pods of each project are told why.
	frontPods = 200
	// writesPerRound bounds the conditions that are written in a round of statuses, a
	// second, so that they do not compete with the openings.
	writesPerRound = 50
)

// wish is a condition that a pod should have.
type wish struct {
	claim     quota.Claim
	condition corev1.PodCondition
}

// wishes lists conditions that differ from what pods have, those that matter most
// first: a wrong one on an open pod, then those at the front of the queues.
func (l *Leader) wishes(v *view, plan *gate.Plan) []wish {
	l.watch.model.mu.Lock()
	defer l.watch.model.mu.Unlock()
	return append(l.openWishes(v), l.waitWishes(v, plan)...)
}

// openWishes are for open pods that are not said to be so. The model is locked.
func (l *Leader) openWishes(v *view) []wish {
	var out []wish
	for i := range v.Charged {
		if len(out) == writesPerRound {
			break
		}
		e := l.watch.model.pods[v.Charged[i].Claim.UID]
		if e == nil || e.assumed != nil || e.Gated || e.Ended || e.Leaving || e.said(corev1.ConditionTrue) {
			continue
		}
		reason := api.ReasonOpened
		if e.Grade == objects.Unmanaged {
			reason = api.ReasonUnmanaged
		}
		if e.resized != "" {
			reason = api.ReasonSetChanged
		}
		note := openedNote(&sending{intent: intent{Node: e.Node, Grade: e.Grade}, resized: e.resized})
		w := newWish(e.Claim, corev1.ConditionTrue, reason, note, v)
		if !e.opened.IsZero() {
			w.condition.LastTransitionTime = metav1.NewTime(e.opened)
		}
		out = append(out, w)
	}
	return out
}

// waitWishes are for the first waiting pods of each project that are said to wait
// for something else, or with other words for a while. The model is locked.
func (l *Leader) waitWishes(v *view, plan *gate.Plan) []wish {
	var out []wish
	told := map[string]int{}
	for i := range plan.Wait {
		w := &plan.Wait[i]
		project := w.Claim.Party.Project
		if len(out) == writesPerRound {
			break
		}
		if w.NotYet || told[project] == frontPods {
			continue
		}
		told[project]++
		e := l.watch.model.pods[w.Claim.UID]
		if e == nil || !e.waits() {
			continue
		}
		if e.said(corev1.ConditionFalse) && e.Allocated.Reason == w.Reason &&
			(e.Allocated.Message == w.Message || v.Now.Sub(l.told[w.Claim.UID]) < rephrase) {
			continue
		}
		out = append(out, newWish(w.Claim, corev1.ConditionFalse, w.Reason, w.Message, v))
	}
	return out
}

// said reports whether the pod's condition has a status.
func (e *entry) said(status corev1.ConditionStatus) bool {
	return e.Allocated != nil && e.Allocated.Status == status
}

func newWish(claim quota.Claim, status corev1.ConditionStatus, reason, message string, v *view) wish {
	return wish{claim, corev1.PodCondition{
		Type: api.ConditionAllocated, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(v.Now),
	}}
}

// writeCondition sets one condition of a pod.
func writeCondition(ctx context.Context, c client.Client, claim quota.Claim, condition corev1.PodCondition) error {
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": claim.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{condition}},
	})
	if err != nil {
		return fmt.Errorf("encode condition: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name}}
	if err := c.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, raw)); err != nil {
		return fmt.Errorf("write condition of pod %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	return nil
}
