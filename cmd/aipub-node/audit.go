// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/attach"
)

// auditEvery is how often the processes on block GPUs are looked at, and
// auditPatience how long a process may stay past the limiter, with everybody
// told, before it is evicted or killed.
const (
	auditEvery    = 500 * time.Millisecond
	auditPatience = 5 * time.Second
)

// treatment is what can be done about a process past the limiter.
type treatment struct {
	// pods are the node's pods; false while they are not known.
	pods func() ([]gpu.Pod, bool)
	// evict ends a pod by way of the API server.
	evict func(ctx context.Context, p gpu.Pod) error
}

// audit holds what the driver says is on the block GPUs against what is attached,
// until ctx ends.
func (a *agent) audit(ctx context.Context, t treatment) {
	if a.sharing == nil {
		return
	}
	auditor := attach.New(attach.Config{Builds: a.sharing.builds})
	look := eyes{proc: attach.NewProc(a.options.pids), seen: map[string]uint64{}}
	ticker := time.NewTicker(auditEvery)
	defer ticker.Stop()
	treated, said := map[attach.ProcessID]attempts{}, quiet{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods, _ := t.pods()
		sample, ok := a.sample(ctx, look, pods)
		if !ok {
			continue
		}
		r := auditor.Observe(sample)
		a.correct(r)
		a.noteMemory(sample)
		a.find(r.Findings, pods, said)
		treated = a.treatAll(ctx, r.Findings, sample.At, pods, t, treated)
	}
}

// correct takes over what the driver says about memory.
func (a *agent) correct(r attach.Report) {
	for _, o := range r.Overheads {
		if err := a.sharing.server.SetOverhead(o.Slice, o.Slot, o.Bytes); err != nil {
			a.log.V(1).Info("correct ledger", "slice", o.Slice, "cause", err.Error())
		}
	}
	if a.sharing.learn(r.ContextBytes) {
		if err := a.sharing.hold(a.state.Snapshot()); err != nil {
			a.log.Error(err, "publish what a context costs")
		}
	}
}

// noteMemory remembers what the driver says that each slice's processes use: what
// they say themselves may be less.
func (a *agent) noteMemory(s attach.Sample) {
	used, on := map[gpu.SliceID]uint64{}, map[gpu.SliceID]string{}
	for _, sl := range s.Slices {
		on[sl.ID] = sl.GPU
	}
	for _, p := range s.OnGPU {
		for _, at := range s.Attached {
			if at.Process == p.Process && on[at.Slice] == p.GPU {
				used[at.Slice] += p.UsedBytes
				break // of several slices on one GPU, the first stands for all
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.onGPU = used
}

// find remembers what is wrong, and tells what is new.
func (a *agent) find(now []attach.Finding, pods []gpu.Pod, said quiet) {
	a.mu.Lock()
	before := a.findings
	a.findings = now
	a.mu.Unlock()
	known := map[findingKey]bool{}
	for _, f := range before {
		known[keyOf(f)] = true
	}
	changed := len(before) != len(now)
	for _, f := range now {
		if known[keyOf(f)] {
			continue
		}
		changed = true
		if times, say := said.due(time.Now(), findingKind{f.Reason, f.Slice}); say {
			a.log.Info("past the limiter", "reason", f.Reason, "slice", f.Slice, "pid", f.Process.PID, "message", f.Message, "times", times)
		}
		if p, ok := podOf(pods, f.Container); ok {
			a.tellPod(p, string(f.Reason), f.Message)
			continue
		}
		a.announce(a.last().desired.NodeUID, corev1.EventTypeWarning, string(f.Reason), f.Message)
	}
	said.forget(time.Now())
	if changed {
		notify(a.said)
	}
}

// findingKey is a finding as long as it lasts.
type findingKey struct {
	reason  attach.Reason
	slice   gpu.SliceID
	process attach.ProcessID
}

func keyOf(f attach.Finding) findingKey { return findingKey{f.Reason, f.Slice, f.Process} }

func podOf(pods []gpu.Pod, c attach.Container) (gpu.Pod, bool) {
	for _, p := range pods {
		if c.PodUID != "" && p.UID == c.PodUID {
			return p, true
		}
	}
	return gpu.Pod{}, false
}

// tellPod writes an event on a pod.
func (a *agent) tellPod(p gpu.Pod, reason, message string) {
	a.mu.Lock()
	e := a.events
	a.mu.Unlock()
	if e != nil {
		e.AnnouncePod(p, corev1.EventTypeWarning, reason, message)
	}
}
