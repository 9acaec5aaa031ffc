// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-logr/logr"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/node"
	"aipub.io/aipub/node/activity"
	"aipub.io/aipub/node/host"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/sharer/attach"
)

// agent joins the stages: it makes the node what the cluster wants of it. Only
// one apply runs at a time; everything else may be called from anywhere.
type agent struct {
	log      logr.Logger
	options  options
	pace     pace
	state    *node.State
	hardware *hardware
	metrics  *metrics
	memory   *memory
	specs    *specs
	sharing  *sharing
	bootID   string
	said     chan struct{} // there is something to publish

	mu        sync.Mutex
	told      told
	announced string // the reason that people know
	faults    faults
	events    events
	findings  []attach.Finding       // of the last audit
	onGPU     map[gpu.SliceID]uint64 // bytes that the driver says its processes use, then
	recent    recent
	climbs    map[gpu.SliceID]api.Finding     // slices that are asked for memory on loan
	fences    map[string][]api.Fence          // by GPU
	worked    map[gpu.SliceID]activity.Report // at the last sample
}

// told is what the last apply found, for the NodePartition.
type told struct {
	desired   kube.Desired
	read      bool // the hardware answered; what follows is what it said
	inventory nvml.Inventory
	gpus      []gpu.GPU
	numa      []host.NUMANode
	policy    *api.PartitionPolicy
	report    partitioner.Report
	reason    string
	message   string
	// behind says that the node is not yet what the policy plans, and would be
	// nearer to it if one of the slices ended that were held. processes says
	// that something else than a holder is, or may be, in the way.
	behind, processes bool
	held              map[gpu.SliceID]bool
}

// newAgent makes an agent that knows what was remembered.
func newAgent(o options, log logr.Logger, m *metrics, p pace) (*agent, error) {
	bootID, err := host.BootID(o.proc)
	if err != nil {
		return nil, err
	}
	memory, err := openMemory(o.stateDir, log)
	if err != nil {
		return nil, err
	}
	sharing, err := openSharing(o, log.WithName("sharer"))
	if err != nil {
		return nil, err
	}
	a := &agent{
		log: log, options: o, pace: p, metrics: m, memory: memory, bootID: bootID,
		state:   node.New(node.Config{Settle: p.settle}),
		specs:   &specs{options: o, limiter: sharing.edits()},
		sharing: sharing,
		said:    make(chan struct{}, 1),
	}
	a.hardware = newHardware(func() nvml.Config {
		return nvml.Config{LibraryPath: library(o.nvmlLibrary, o.driverMount), Sysfs: o.sys}
	}, log, p)
	remembered, err := memory.recall(a.state, bootID)
	if err != nil {
		return nil, err
	}
	a.told.gpus = remembered.Facts.GPUs
	return a, nil
}

// apply makes the node what d says, as far as what is held allows. It returns
// an error when trying again without a change can help.
func (a *agent) apply(ctx context.Context, d kube.Desired) error {
	t := told{desired: d}
	t.policy, _ = partitioner.Govern(d.Policies, d.Labels)
	err := a.try(ctx, d, &t)
	waits := false
	if err != nil {
		t.reason, t.message, waits = explain(err)
		t.behind, t.processes = true, waits
	}
	a.metrics.applies.WithLabelValues(t.reason).Inc()
	a.tell(t)
	a.memory.save(a.record())
	if waits {
		return nil // an end asks for the next attempt, see follow
	}
	return err
}

func (a *agent) try(ctx context.Context, d kube.Desired, t *told) error {
	driver, inv, err := a.hardware.read(ctx)
	if err != nil {
		return err
	}
	t.gpus, t.inventory, t.read = a.withSilent(inv), inv, true
	if t.numa, err = host.NUMANodes(a.options.sys); err != nil {
		return err
	}
	if err := a.specs.open(ctx, driver, inv.DriverVersion); err != nil {
		return err
	}
	target, pending := a.plan(d, t)
	t.held = held(a.state.Snapshot())
	next, waiting := partitioner.Transition(a.state.Layout(), target, t.held)
	t.behind = len(waiting) > 0 || !reflect.DeepEqual(next.Slices, target.Slices)
	t.reason, t.message = outcome(t, pending, waiting)
	return a.carryOut(ctx, driver, t.gpus, next)
}

// withSilent adds to the GPUs that answer those that did once and are silent
// now: a GPU that is not heard is not a GPU that is gone. A driver that was
// opened after a GPU fell silent cannot say which one it is, so all that are
// missing are taken for silent then.
func (a *agent) withSilent(inv nvml.Inventory) []gpu.GPU {
	failed, unnamed := map[string]bool{}, false
	for _, f := range inv.Failed {
		failed[f.UUID] = true
		unnamed = unnamed || f.UUID == ""
	}
	all := slices.Clone(inv.GPUs)
	for _, known := range a.gpus() {
		answers := slices.ContainsFunc(inv.GPUs, func(g gpu.GPU) bool { return g.UUID == known.UUID })
		if !answers && (unnamed || failed[known.UUID]) {
			all = append(all, known)
		}
	}
	slices.SortStableFunc(all, func(x, y gpu.GPU) int { return x.Index - y.Index })
	return all
}

// gpus are the GPUs as last known.
func (a *agent) gpus() []gpu.GPU {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told.gpus
}

// tell remembers what an apply found. What it did not get to know stays as it
// was.
func (a *agent) tell(t told) {
	a.mu.Lock()
	before := a.told
	if !t.read {
		t.gpus, t.inventory, t.numa = before.gpus, before.inventory, before.numa
		t.report = before.report
	}
	a.told = t
	a.mu.Unlock()
	if t.reason != before.reason || t.message != before.message {
		a.log.Info("partition", "reason", t.reason, "message", t.message)
	}
	a.announceReason(t)
	notify(a.said)
}

// last is what the last apply found.
func (a *agent) last() told {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told
}

// health takes over news about the hardware. What comes back may come back
// empty, so it is read again.
func (a *agent) health(e nvml.Event, poke func()) {
	if e.Kind == nvml.MIGChanged {
		a.hardware.forget()
		poke()
		return
	}
	a.log.Info("health", "gpu", e.GPU, "gi", e.GIID, "ci", e.CIID, "ok", e.Health.OK, "reason", e.Health.Reason, "message", e.Health.Message)
	a.state.SetHealth(e.GPU, e.GIID, e.CIID, e.Health)
	back := a.noteHealth(e)
	if back && e.GIID < 0 {
		a.hardware.forget()
		poke()
	}
}

// held are the slices that somebody has.
func held(s gpu.Snapshot) map[gpu.SliceID]bool {
	ids := map[gpu.SliceID]bool{}
	for _, st := range s.Slices {
		if st.State == gpu.StateHeld || st.State == gpu.StateRetired {
			ids[st.Slice.ID] = true
		}
	}
	return ids
}

// nameOf is a GPU as people know it.
func (a *agent) nameOf(uuid string) string {
	for _, g := range a.gpus() {
		if g.UUID == uuid {
			return fmt.Sprintf("GPU %d (%s)", g.Index, uuid)
		}
	}
	return "GPU " + uuid
}
