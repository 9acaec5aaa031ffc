// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/attach"
	"aipub.io/aipub/sharer/fence"
	"aipub.io/aipub/sharer/socket"
)

// fenceEvery is how often containers are looked at that the kernel has to limit,
// the longest time that one runs with the limiter alone; mpsEvery is how often
// MPS is looked for.
const (
	fenceEvery = 500 * time.Millisecond
	mpsEvery   = 10 * time.Second
)

// guard puts the outer fences around containers with block slices until ctx ends.
func (a *agent) guard(ctx context.Context) {
	if a.sharing == nil {
		return
	}
	k := kernelFence{cgroups: fence.NewCgroups(a.options.cgroupRoot), proc: attach.NewProc(a.options.pids)}
	var mps map[string]bool
	for round := 0; pause(ctx, fenceEvery); round++ {
		if mps == nil || round%int(mpsEvery/fenceEvery) == 0 {
			mps = a.mps(ctx)
		}
		a.fenced(a.limitByCgroup(&k, a.sharing.server.View()), mps)
	}
}

// kernelFence is the limit of device memory by cgroup.
type kernelFence struct {
	cgroups *fence.Cgroups
	proc    *attach.Proc
	problem string // that was told
}

// limitByCgroup writes the limits that are missing. It returns the regions that the
// kernel limits, none when something went wrong: a fence with a hole is none.
func (a *agent) limitByCgroup(k *kernelFence, view socket.View) []fence.Region {
	regions, err := k.cgroups.Regions()
	if err == nil && len(regions) > 0 {
		err = k.cgroups.Apply(fence.Plan(regions, a.containers(view, k.proc)))
	}
	if err == nil {
		k.problem = ""
		return regions
	}
	if k.problem != err.Error() {
		k.problem = err.Error()
		a.log.Error(err, "limit device memory by cgroup; the limiter holds it alone")
	}
	return nil
}

// containers are those that have processes on block slices. A container whose
// name is not known yet is left for the next time: its other slices are not known
// either, and the limit is for their sum.
func (a *agent) containers(view socket.View, proc *attach.Proc) []fence.Container {
	address := map[string]string{}
	for _, g := range a.gpus() {
		address[g.UUID] = g.PCIBusID
	}
	bySlice := map[gpu.SliceID]socket.SliceView{}
	for _, v := range view.Slices {
		bySlice[v.ID] = v
	}
	var all []fence.Container
	for _, t := range view.Tenants {
		if strings.HasPrefix(string(t.Tenant), unnamed) {
			continue
		}
		var c fence.Container
		for _, id := range t.Slices {
			v := bySlice[id]
			c.Shares = append(c.Shares, fence.Share{PCIBusID: address[v.GPU], Bytes: max(v.MemoryBytes, v.MaxMemoryBytes)})
			for _, p := range v.Processes {
				if c.Cgroup == "" {
					c.Cgroup = a.cgroupOf(proc, attach.ProcessID{PID: p.HostPID, Start: p.StartTime})
				}
			}
		}
		if c.Cgroup != "" {
			all = append(all, c)
		}
	}
	return all
}

// cgroupOf is the cgroup of a process' container, empty where there is none that
// can be limited.
func (a *agent) cgroupOf(proc *attach.Proc, id attach.ProcessID) string {
	now, container, err := proc.Process(id.PID)
	if err != nil || now != id {
		return "" // it ended just now
	}
	text, err := os.ReadFile(filepath.Join(a.options.pids, strconv.Itoa(id.PID), "cgroup"))
	if err != nil {
		return ""
	}
	path, err := fence.CgroupOf(string(text), container.ID)
	if err != nil {
		a.log.V(1).Info("find cgroup", "pid", id.PID, "cause", err.Error())
	}
	return path
}

// mps are the GPUs that a server of MPS runs on; nil while there is no driver or
// nothing to look at.
func (a *agent) mps(ctx context.Context) map[string]bool {
	driver, all := a.hardware.opened(), a.blockGPUs()
	if driver == nil || len(all) == 0 {
		return nil
	}
	on := map[string]bool{}
	for _, g := range all {
		processes, err := driver.Processes(ctx, g.UUID)
		if err != nil {
			a.log.V(1).Info("list processes", "gpu", g.UUID, "cause", err.Error())
			continue
		}
		for _, p := range processes {
			comm, _ := os.ReadFile(filepath.Join(a.options.pids, strconv.Itoa(p.PID), "comm"))
			on[g.UUID] = on[g.UUID] || fence.IsMPSServer(string(comm))
		}
	}
	return on
}

// blockGPUs are the GPUs that are cut into block slices.
func (a *agent) blockGPUs() []gpu.GPU {
	modes := a.state.Layout().Modes
	return slices.DeleteFunc(slices.Clone(a.gpus()), func(g gpu.GPU) bool { return modes[g.UUID] != gpu.ModeBlock })
}

// fenced remembers what fences there are, and tells what is new.
func (a *agent) fenced(regions []fence.Region, mps map[string]bool) {
	now := map[string][]api.Fence{}
	for _, g := range a.blockGPUs() {
		var f []api.Fence
		if len(fence.Of(regions, g.PCIBusID)) > 0 {
			f = append(f, api.FenceCgroupMemory)
		}
		if mps[g.UUID] {
			f = append(f, api.FenceMPS)
		}
		now[g.UUID] = append(f, api.FenceLimiter)
	}
	a.mu.Lock()
	before := a.fences
	a.fences = now
	a.mu.Unlock()
	if reflect.DeepEqual(before, now) {
		return
	}
	if d := a.hardware.opened(); before == nil && d != nil && d.MemoryLimits() {
		a.log.Info("the driver can limit device memory of cgroups by itself (nvmlDeviceSetMemoryLimits_v1); the agent does not use that yet")
	}
	for uuid, f := range now {
		if slices.Contains(f, api.FenceMPS) && !slices.Contains(before[uuid], api.FenceMPS) {
			a.log.Info("MPS runs on a shared GPU: containers' kernels overlap, so what each used of it is an estimate", "gpu", uuid)
		}
		if slices.Contains(f, api.FenceCgroupMemory) && !slices.Contains(before[uuid], api.FenceCgroupMemory) {
			a.log.Info("the kernel limits device memory by cgroup", "gpu", uuid)
		}
	}
	notify(a.said)
}

// describeFences adds to the GPUs of a NodePartition what fences there are.
func (a *agent) describeFences(all []api.NodeGPU) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range all {
		all[i].Fences = a.fences[all[i].UUID]
	}
}
