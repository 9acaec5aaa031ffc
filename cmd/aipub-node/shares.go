// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

// recent remembers what tenants used in the last interval.
type recent struct {
	mu    sync.Mutex
	last  sharer.Report
	rates map[string]sharer.Rates // by slice
	now   map[string]sharer.TenantReport
}

// take turns a report into rates since the last one.
func (r *recent) take(now sharer.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := map[sharer.TenantID]sharer.TenantReport{}
	for _, t := range r.last.Tenants {
		before[t.ID] = t
	}
	r.rates, r.now = map[string]sharer.Rates{}, map[string]sharer.TenantReport{}
	for _, t := range now.Tenants {
		rates := sharer.RatesBetween(before[t.ID], t, now.At.Sub(r.last.At))
		for _, id := range t.Slices {
			r.rates[id], r.now[id] = rates, t
		}
	}
	r.last = now
}

// share is what a slice was used for; nil when nothing is known.
func (r *recent) share(id string, findings []api.Finding) *api.SliceShare {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.now[id]
	if !ok && len(findings) == 0 {
		return nil
	}
	rates := r.rates[id]
	percent := func(v float64) int32 { return int32(math.Round(v)) }
	return &api.SliceShare{
		UsedPercent: percent(rates.Used), LentPercent: percent(rates.Lent), BorrowedPercent: percent(rates.Borrowed), WaitingPercent: percent(rates.Waiting),
		Memory: *resource.NewQuantity(int64(t.MemoryBytes), resource.BinarySI), Processes: int32(t.Processes), Findings: findings,
	}
}

// followShares asks now and then for a publication of what slices are used for,
// until ctx ends: the shares, and the activity, which must never be as old as a
// gap is. Nothing is written where nothing is held.
func (a *agent) followShares(ctx context.Context) {
	a.recent.take(a.report())
	for next := a.pace.sharesFirst; pause(ctx, next); next = a.pace.shares {
		a.recent.take(a.report())
		notify(a.said)
	}
}

// describeShares adds to the slices of a NodePartition what they were used for.
func (a *agent) describeShares(all []api.NodeSlice) {
	if a.sharing == nil {
		return
	}
	a.mu.Lock()
	findings := map[string][]api.Finding{}
	for _, f := range a.findings {
		since := time.Now().Add(-a.sharing.since(f.Since)).Truncate(time.Second)
		findings[string(f.Slice)] = append(findings[string(f.Slice)], api.Finding{
			Reason: string(f.Reason), PID: int32(f.Process.PID), Message: f.Message, Since: metav1.NewTime(since),
		})
	}
	for id, f := range a.climbs {
		findings[string(id)] = append(findings[string(id)], f)
	}
	a.mu.Unlock()
	for i := range all {
		if all[i].BlockPercent > 0 && all[i].Holder != nil {
			all[i].Share = a.recent.share(all[i].ID, findings[all[i].ID])
		}
	}
}
