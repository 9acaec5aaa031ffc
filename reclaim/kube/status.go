// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// countEvery is how often the statuses of ReclaimPolicies are written.
const countEvery = 30 * time.Second

// Bound is a workload as the status of a policy counts it.
type Bound struct {
	Occupancy *api.Occupancy
	Pause     *api.Pause
}

// Statuses writes what ReclaimPolicies do. Only the elected leader runs it.
type Statuses struct {
	engine *Engine
	client client.Client
	others []*Others
}

// NewStatuses makes a Statuses for Workspaces and other kinds.
func NewStatuses(engine *Engine, c client.Client, others []*Others) *Statuses {
	return &Statuses{engine: engine, client: c, others: others}
}

// Start counts until the context ends.
func (s *Statuses) Start(ctx context.Context) error {
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		if err := s.write(ctx); err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).Error(err, "Write statuses of reclaim policies")
		}
		if s.engine.config.Jupyter != nil {
			s.engine.config.Jupyter.Forget()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (s *Statuses) write(ctx context.Context) error {
	var policies api.ReclaimPolicyList
	if err := s.client.List(ctx, &policies); err != nil {
		return fmt.Errorf("list reclaim policies: %w", err)
	}
	if len(policies.Items) == 0 {
		return nil
	}
	now := s.engine.Now()
	s.engine.begin(policies.Items, now)
	bound, err := s.bound(ctx)
	if err != nil {
		return err
	}
	for i := range policies.Items {
		p := &policies.Items[i]
		after := p.DeepCopy()
		after.Status = Count(p, bound, now)
		if equality.Semantic.DeepEqual(p.Status, after.Status) {
			continue
		}
		patch := client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{})
		if err := s.client.Status().Patch(ctx, after, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write status of reclaim policy %s: %w", p.Name, err)
		}
	}
	return nil
}

func (s *Statuses) bound(ctx context.Context) ([]Bound, error) {
	var list api.WorkspaceList
	if err := s.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	var out []Bound
	for i := range list.Items {
		out = append(out, Bound{list.Items[i].Status.Occupancy, list.Items[i].Status.Pause})
	}
	for _, o := range s.others {
		items, err := o.list(ctx)
		if err != nil {
			return nil, err
		}
		for i := range items {
			var b Bound
			var occupancy api.Occupancy
			var pause api.Pause
			if read(&items[i], api.OccupancyAnnotation, &occupancy) {
				b.Occupancy = &occupancy
			}
			if read(&items[i], api.PausedAnnotation, &pause) {
				b.Pause = &pause
			}
			out = append(out, b)
		}
	}
	return out, nil
}

// Count is the status of a policy: whom it binds now, and what it did since it was
// counted last.
func Count(p *api.ReclaimPolicy, all []Bound, now time.Time) api.ReclaimPolicyStatus {
	st := *p.Status.DeepCopy()
	st.ObservedGeneration, st.Bound, st.DueSoon, st.NextAt = p.Generation, 0, 0, nil
	from := now
	if st.CountedUntil != nil {
		from = st.CountedUntil.Time
	}
	var did reclaim.Account
	for _, b := range all {
		if o := b.Occupancy; o != nil && o.Policy == p.Name && o.Since != nil {
			countHeld(&st, &did, o, from, now)
		}
		if b.Pause != nil && b.Pause.By == p.Name {
			countPaused(&did, b.Pause, from, now)
		}
	}
	st.Months = reclaim.Sum(st.Months, did)
	st.CountedUntil = stamp(now)
	ready := metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ReasonApplied, ObservedGeneration: p.Generation}
	if err := reclaim.Check(p.Spec); err != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, api.ReasonInvalidPolicy, err.Error()
	}
	ready.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&st.Conditions, ready)
	return st
}

// countHeld counts one that holds its set and whose deadline the policy sets.
func countHeld(st *api.ReclaimPolicyStatus, did *reclaim.Account, o *api.Occupancy, from, now time.Time) {
	st.Bound++
	if o.ExpiresAt != nil && o.ExpiresAt.Sub(now) <= 24*time.Hour {
		st.DueSoon++
	}
	if o.ExpiresAt != nil && (st.NextAt == nil || o.ExpiresAt.Before(st.NextAt)) {
		st.NextAt = o.ExpiresAt
	}
	if o.Signal == api.SignalIdle {
		did.Ghost = append(did.Ghost, reclaim.Span{From: latest(from, o.Since, o.ActiveAt), To: now})
	}
}

// countPaused counts one that the policy has paused.
func countPaused(did *reclaim.Account, p *api.Pause, from, now time.Time) {
	if p.At.After(from) && !p.At.After(now) {
		did.Pauses = append(did.Pauses, p.At.Time)
	}
	if p.FreedAt != nil {
		did.Reclaimed = append(did.Reclaimed, reclaim.Span{From: latest(from, p.FreedAt), To: now})
	}
}

func latest(t time.Time, others ...*metav1.Time) time.Time {
	for _, o := range others {
		if o != nil && o.After(t) {
			t = o.Time
		}
	}
	return t
}
