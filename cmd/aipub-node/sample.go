// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/sharer/attach"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// eyes are what a sample is seen with.
type eyes struct {
	proc *attach.Proc
	seen map[string]uint64 // what of the driver's utilization was read, by GPU
}

// sample looks at the block GPUs of which something is held; false when there is
// nothing to look at, or the driver does not answer.
func (a *agent) sample(ctx context.Context, look eyes, pods []gpu.Pod) (attach.Sample, bool) {
	held := heldBlocks(a.state.Snapshot(), pods)
	driver := a.hardware.opened()
	if len(held) == 0 || driver == nil {
		return attach.Sample{}, false
	}
	view := a.sharing.server.View()
	s := attach.Sample{At: view.At, Slices: append(held, ending(view)...), Attached: attached(view)}
	complete(s.Slices, view)
	minors := map[int]string{}
	for _, g := range a.gpus() {
		if !slices.ContainsFunc(held, func(h attach.Slice) bool { return h.GPU == g.UUID }) {
			continue
		}
		minors[g.Minor] = g.UUID
		processes, err := driver.Processes(ctx, g.UUID)
		if err != nil {
			a.log.V(1).Info("list processes", "gpu", g.UUID, "cause", err.Error())
			return attach.Sample{}, false
		}
		busy, overlaps := a.busyOn(ctx, driver, look, g.UUID), a.overlaps(g.UUID)
		for _, p := range processes {
			id, container, err := look.proc.Process(p.PID)
			if err != nil {
				continue // it ended just now
			}
			s.OnGPU = append(s.OnGPU, attach.OnGPU{Process: id, GPU: g.UUID, Container: container, UsedBytes: uint64(p.MemoryBytes), BusyPercent: busy(p.PID), Overlaps: overlaps})
		}
	}
	s.OnGPU = append(s.OnGPU, a.openers(look.proc, s, minors)...)
	noteUnequipped(look.proc, s)
	return s, true
}

// busyOn reads how busy processes kept a GPU; -1 where the driver does not say.
func (a *agent) busyOn(ctx context.Context, driver *nvml.Driver, look eyes, uuid string) func(pid int) int {
	percent, seen, err := driver.Busy(ctx, uuid, look.seen[uuid])
	if err != nil {
		a.log.V(1).Info("read utilization of processes", "gpu", uuid, "cause", err.Error())
	}
	look.seen[uuid] = seen
	return func(pid int) int {
		if n, ok := percent[pid]; ok {
			return n
		}
		return -1
	}
}

// openers are the processes of holders that have a block GPU's device file open
// as CUDA programs do, and that the driver does not list.
func (a *agent) openers(proc *attach.Proc, s attach.Sample, minors map[int]string) []attach.OnGPU {
	users, err := proc.Users(func(c attach.Container) bool {
		return slices.ContainsFunc(s.Slices, func(h attach.Slice) bool { return h.Holder.PodUID == c.PodUID && c.PodUID != "" })
	})
	if err != nil {
		a.log.V(1).Info("look for open device files", "cause", err.Error())
		return nil
	}
	var more []attach.OnGPU
	for _, u := range users {
		for _, minor := range u.Minors {
			uuid, ours := minors[minor]
			listed := slices.ContainsFunc(s.OnGPU, func(p attach.OnGPU) bool { return p.Process == u.Process && p.GPU == uuid })
			if ours && !listed {
				more = append(more, attach.OnGPU{Process: u.Process, GPU: uuid, Container: u.Container, BusyPercent: -1})
			}
		}
	}
	return more
}

// heldBlocks are the block slices that are held, and by which pod.
func heldBlocks(snap gpu.Snapshot, pods []gpu.Pod) []attach.Slice {
	uid := func(h gpu.Holder) string {
		for _, p := range pods {
			if p.Namespace == h.Namespace && p.Name == h.Pod {
				return p.UID
			}
		}
		return h.PodUID
	}
	var all []attach.Slice
	for _, st := range snap.Slices {
		if st.Slice.Block == nil || (st.State != gpu.StateHeld && st.State != gpu.StateRetired) {
			continue
		}
		all = append(all, attach.Slice{
			ID: st.Slice.ID, GPU: st.Slice.GPUs[0], MemoryBytes: uint64(max(st.Slice.Block.MemoryBytes, st.Slice.Block.MaxMemoryBytes)),
			Holder: attach.Container{PodUID: uid(st.Holder)},
		})
	}
	return all
}

// ending are the slices whose pod is gone and whose last processes are about to
// be: a pod that is deleted by force is gone first.
func ending(v socket.View) []attach.Slice {
	var all []attach.Slice
	for _, sl := range v.Slices {
		if sl.Retired {
			all = append(all, attach.Slice{ID: sl.ID, GPU: sl.GPU, MemoryBytes: sl.MemoryBytes})
		}
	}
	return all
}

// noteUnequipped looks which of the processes that are not attached are in
// containers that never got the limiter.
func noteUnequipped(proc *attach.Proc, s attach.Sample) {
	known := map[attach.ProcessID]bool{}
	for _, at := range s.Attached {
		known[at.Process] = true
	}
	for i, p := range s.OnGPU {
		if known[p.Process] {
			continue
		}
		has, err := proc.HasMount(p.Process.PID, wire.SlicesDir)
		s.OnGPU[i].Unequipped = err == nil && !has
	}
}

// overlaps reports whether MPS runs kernels of several processes on a GPU at once.
func (a *agent) overlaps(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.fences[uuid], api.FenceMPS)
}

// complete takes over what the server knows of each slice.
func complete(all []attach.Slice, v socket.View) {
	tenants := map[gpu.SliceID]socket.TenantView{}
	for _, t := range v.Tenants {
		for _, id := range t.Slices {
			tenants[id] = t
		}
	}
	for i := range all {
		for _, sl := range v.Slices {
			if sl.ID == all[i].ID {
				all[i].Damage, all[i].Locked = sl.Damage, sl.Locked
				all[i].AllowedBytes = sl.MemoryBytes
				all[i].Leased, all[i].Overdue = tenants[sl.ID].Undrained, tenants[sl.ID].Overdue
			}
		}
	}
}

// attached are the processes with the limiter.
func attached(v socket.View) []attach.Attached {
	var all []attach.Attached
	for _, p := range v.Processes() {
		all = append(all, attach.Attached{
			Process: attach.ProcessID{PID: p.HostPID, Start: p.StartTime}, Slice: p.Slice, Slot: p.Slot,
			BuildID: p.BuildID, Ungated: p.Problems&wire.ProblemUngated != 0, InFlight: p.InFlight,
			CommittedBytes: p.Memory.Committed, PendingBytes: p.Memory.Pending, OverheadBytes: p.Memory.Overhead,
			ManagedBytes: p.Memory.Managed, Busy: p.Work.Busy, Launches: p.Work.Launches,
		})
	}
	return all
}
