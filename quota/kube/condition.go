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
	m := l.watch.model
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []wish
	add := func(claim quota.Claim, status corev1.ConditionStatus, reason, message string) {
		e := m.pods[claim.UID]
		if e == nil || e.leaving || e.ended || e.charged() != (status == corev1.ConditionTrue) || e.assumed != nil {
			return
		}
		if has := e.allocated; has != nil && has.Status == status && has.Reason == reason &&
			(has.Message == message || v.Now.Sub(l.told[claim.UID]) < rephrase) {
			return
		}
		out = append(out, wish{claim, corev1.PodCondition{
			Type: api.ConditionAllocated, Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(v.Now),
		}})
	}
	for i := range v.Charged {
		c := &v.Charged[i]
		if len(out) >= writesPerRound {
			return out
		}
		e := m.pods[c.Claim.UID]
		if e == nil || (e.allocated != nil && e.allocated.Status == corev1.ConditionTrue) {
			continue
		}
		reason := api.ReasonOpened
		if e.grade == gradeUnmanaged {
			reason = api.ReasonUnmanaged
		}
		add(c.Claim, corev1.ConditionTrue, reason, openedNote(&sending{intent: intent{Node: e.node, Grade: e.grade}}))
	}
	told := map[string]int{}
	for i := range plan.Wait {
		w := &plan.Wait[i]
		if len(out) >= writesPerRound {
			break
		}
		if project := w.Claim.Party.Project; !w.NotYet && told[project] < frontPods {
			told[project]++
			add(w.Claim, corev1.ConditionFalse, w.Reason, w.Message)
		}
	}
	return out
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
