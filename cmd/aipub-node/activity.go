// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/activity"
	"aipub.io/aipub/sharer/attach"
)

// followActivity looks at what the holders of slices do until ctx ends.
func (a *agent) followActivity(ctx context.Context, pods func() ([]gpu.Pod, bool)) {
	tracker := activity.NewTracker(a.options.idle)
	host, loads := a.host(), &loads{seen: map[string]uint64{}}
	for {
		known, _ := pods()
		seen := tracker.Observe(a.look(ctx, host, loads, known))
		a.mu.Lock()
		a.worked = seen
		a.mu.Unlock()
		if !pause(ctx, a.pace.activity) {
			return
		}
	}
}

// host sees containers. Where the agent's own view of the cgroups is cut short,
// that of the first process is not.
func (a *agent) host() *activity.Host {
	processes := attach.NewProc(a.options.pids)
	return activity.NewHost(activity.HostConfig{
		Proc:    a.options.pids,
		Cgroups: []string{a.options.cgroupRoot, filepath.Join(a.options.pids, "1/root/sys/fs/cgroup")},
		Identify: func(pid int) (string, uint64, error) {
			id, container, err := processes.Process(pid)
			return container.ID, id.Start, err
		},
	})
}

// look takes a sample of everything that is held by somebody who is known. What
// does not show itself is left nil.
func (a *agent) look(ctx context.Context, host *activity.Host, loads *loads, pods []gpu.Pod) activity.Sample {
	var held []gpu.Status
	for _, st := range a.state.Snapshot().Slices {
		if (st.State == gpu.StateHeld || st.State == gpu.StateRetired) && !st.Holder.IsZero() {
			held = append(held, st)
		}
	}
	containers, ids := map[gpu.SliceID]string{}, []string{}
	for _, st := range held {
		if id := containerOf(st.Holder, pods); id != "" {
			containers[st.Slice.ID] = id
			ids = append(ids, id)
		}
	}
	kernel := host.Look(ids)
	gpus := a.lookAtGPUs(ctx, loads, held)
	s := activity.Sample{Boot: sinceBoot(), Wall: time.Now()}
	for _, st := range held {
		one := gpus(st)
		if id := containers[st.Slice.ID]; id != "" {
			one.CPUTime, one.Terminals = kernel[id].CPUTime, kernel[id].Terminals
		}
		s.Slices = append(s.Slices, one)
	}
	return s
}

// containerOf is the ID of a holder's container, empty while it is not known.
func containerOf(h gpu.Holder, pods []gpu.Pod) string {
	for _, p := range pods {
		if p.Namespace == h.Namespace && p.Name == h.Pod && (h.PodUID == "" || p.UID == h.PodUID) {
			return p.Containers[h.Container]
		}
	}
	return ""
}

// sinceBoot is how long ago the machine started, the time that it slept included;
// no step of the clock moves it.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // cannot fail for this clock
	return time.Duration(ts.Nano())
}

// activityNow is what the last sample found.
func (a *agent) activityNow() map[gpu.SliceID]activity.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.worked
}

// describeActivity adds to the slices of a NodePartition when they last worked, as
// long as the holder is the one that was looked at.
func (a *agent) describeActivity(all []api.NodeSlice) {
	seen := a.activityNow()
	for i := range all {
		r, ok := seen[gpu.SliceID(all[i].ID)]
		if h := all[i].Holder; ok && h != nil && *h == (api.Holder{Namespace: r.Holder.Namespace, Pod: r.Holder.Pod, Container: r.Holder.Container}) {
			all[i].Activity = r.Activity.DeepCopy()
		}
	}
}
