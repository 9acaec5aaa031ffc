// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// report says how block slices are used.
func (a *agent) report() sharer.Report {
	r := sharer.Report{Node: a.options.node, BootID: a.bootID, Tenants: []sharer.TenantReport{}}
	if a.sharing == nil {
		return r
	}
	view, snap := a.sharing.server.View(), a.state.Snapshot()
	r.At = view.At
	held := map[gpu.SliceID]gpu.Status{}
	for _, st := range snap.Slices {
		held[st.Slice.ID] = st
	}
	used := map[gpu.SliceID]socket.SliceView{}
	for _, v := range view.Slices {
		used[v.ID] = v
	}
	index := map[string]int{}
	for _, g := range a.gpus() {
		index[g.UUID] = g.Index
	}
	a.mu.Lock()
	found, driver := a.findings, a.onGPU
	a.mu.Unlock()
	for _, t := range view.Tenants {
		one := tenantReport(t, held, used, index)
		seen := uint64(0)
		for _, id := range t.Slices {
			seen += driver[id]
		}
		one.MemoryBytes = max(one.MemoryBytes, seen)
		one.Longest = min(one.Longest, time.Duration(view.At)) // the clock began with the node
		for _, f := range found {
			if slices.Contains(t.Slices, f.Slice) {
				one.Findings = append(one.Findings, sharer.FindingReport{PID: f.Process.PID, Reason: string(f.Reason), Message: f.Message})
			}
		}
		r.Tenants = append(r.Tenants, one)
	}
	return r
}

func tenantReport(t socket.TenantView, held map[gpu.SliceID]gpu.Status, used map[gpu.SliceID]socket.SliceView, index map[string]int) sharer.TenantReport {
	r := sharer.TenantReport{
		ID: t.Tenant, Lends: true, Borrows: true, Wants: t.Wants,
		HasLease: t.Lease != wire.LeaseNone, HasBorrowed: t.Lease == wire.LeaseBorrowed,
		Used: t.Used, Lent: t.Lent, Borrowed: t.Borrowed, Waited: t.Waited, Debt: t.Debt, Leases: t.Leases,
		Reclaims: t.Reclaims[:], ReclaimSum: t.ReclaimSum, LastReclaim: t.LastReclaim, LongestReclaim: t.LongestReclaim,
	}
	pids := map[int]bool{}
	for _, id := range t.Slices {
		st, v := held[id], used[id]
		h := st.Holder
		r.Namespace, r.Pod, r.Container, r.Set = h.Namespace, h.Pod, h.Container, st.Slice.Set
		r.Slices = append(r.Slices, string(id))
		if i, ok := index[v.GPU]; ok && !slices.Contains(r.GPUs, i) {
			r.GPUs = append(r.GPUs, i)
		}
		r.Percent += v.Permille / 10
		r.MaxPercent += v.MaxPermille / 10
		r.Lends, r.Borrows = r.Lends && v.Lend, r.Borrows && v.Borrow
		r.MemoryBytes += possible(v)
		r.MemoryLimitBytes += v.MemoryBytes
		r.MemoryGuaranteedBytes += v.GuaranteedBytes
		r.MemoryMaxBytes += max(v.GuaranteedBytes, v.MaxMemoryBytes)
		r.MemoryRefused += v.Memory.Refused
		r.Launches += v.Work.Launches
		r.Longest = max(r.Longest, v.Work.Longest)
		for _, p := range v.Processes {
			pids[p.HostPID] = true
		}
	}
	r.MaxPercent = min(r.MaxPercent, 100*max(1, len(r.GPUs)))
	r.Processes = len(pids)
	return r
}

// possible is the memory that a slice's processes say they have, as far as it can
// be true: they may write there what they like, and the driver says what is more.
func possible(v socket.SliceView) uint64 {
	if v.MemoryBytes == 0 {
		return v.Memory.Total()
	}
	return min(v.Memory.Total(), max(v.MemoryBytes, v.MaxMemoryBytes))
}

// serveReport answers with the report as JSON.
func (a *agent) serveReport(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(a.report()); err != nil {
		a.log.V(1).Info("a reader of the shares went away", "cause", err.Error())
	}
}
