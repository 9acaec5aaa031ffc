// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"aipub.io/aipub/cdi/specdir"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/partitioner/mig"
)

// carryOut makes the hardware, the container edits and the node's state what
// the layout says, in an order in which nothing is offered before it exists:
// first everything that needs no change of the hardware, then one GPU after the
// other that does. One GPU's trouble does not hold up the others.
func (a *agent) carryOut(ctx context.Context, driver *nvml.Driver, gpus []gpu.GPU, next gpu.Layout) error {
	works := a.works(ctx, driver, gpus, next)
	offered := a.offer(ctx, gpus, next, works)
	var errs []error
	for _, w := range works {
		errs = append(errs, a.attach(ctx, w, next))
	}
	for i := range works {
		w := &works[i]
		if w.err == nil && len(w.steps) > 0 {
			w.err = a.cut(ctx, driver, w)
			offered = a.offer(ctx, gpus, next, works)
			errs = append(errs, a.attach(ctx, *w, next))
		}
		errs = append(errs, w.err)
	}
	return errors.Join(append(errs, offered, a.sweep())...)
}

// work is one MIG-capable GPU on the way to its target.
type work struct {
	gpu    gpu.GPU
	target []gpu.MIGTarget
	// instances are those that exist; not known when read is false.
	instances []gpu.Instance
	read      bool
	steps     []partitioner.Step
	err       error
}

// unfinished reports whether the GPU is not, or may not be, what it shall be.
func (w work) unfinished() bool { return w.err != nil || len(w.steps) > 0 }

// look reads the instances.
func (w *work) look(ctx context.Context, driver *nvml.Driver) error {
	instances, err := driver.Instances(ctx, w.gpu.UUID)
	w.instances, w.read = instances, err == nil
	if err != nil {
		return fmt.Errorf("read MIG instances of GPU %s: %w", w.gpu.UUID, err)
	}
	return nil
}

// works looks at each GPU that has, or shall have, MIG instances.
func (a *agent) works(ctx context.Context, driver *nvml.Driver, gpus []gpu.GPU, next gpu.Layout) []work {
	var out []work
	for _, g := range gpus {
		mode, planned := next.Modes[g.UUID]
		if !planned || g.MIG == nil || (mode != gpu.ModeMIG && !g.MIG.Enabled) {
			continue
		}
		w := work{gpu: g, target: targets(next, g.UUID)}
		if w.err = w.look(ctx, driver); w.err == nil {
			w.steps, w.err = partitioner.Steps(g, w.instances, w.target, nil)
		}
		out = append(out, w)
	}
	return out
}

func targets(l gpu.Layout, uuid string) []gpu.MIGTarget {
	var out []gpu.MIGTarget
	for _, s := range l.Slices {
		if s.MIG != nil && slices.Contains(s.GPUs, uuid) {
			out = append(out, *s.MIG)
		}
	}
	return out
}

// withhold leaves out the slices that cannot be offered because their GPU still
// has steps before it. MIG slices need no withholding: they are Preparing until
// their instance exists.
func withhold(l gpu.Layout, works []work) gpu.Layout {
	busy := map[string]bool{}
	for _, w := range works {
		busy[w.gpu.UUID] = w.unfinished()
	}
	return without(l, func(s gpu.Slice) bool {
		return s.MIG == nil && slices.ContainsFunc(s.GPUs, func(u string) bool { return busy[u] })
	})
}

func without(l gpu.Layout, drop func(gpu.Slice) bool) gpu.Layout {
	l.Slices = slices.DeleteFunc(slices.Clone(l.Slices), drop)
	return l
}

// offer shows the node what can be handed out now. A slice whose container
// edits cannot be written is left out, unless it was offered before: its GPU
// may only be silent, and an ID that vanishes would take its pod with it.
func (a *agent) offer(ctx context.Context, gpus []gpu.GPU, next gpu.Layout, works []work) error {
	ready := withhold(next, works)
	unwritten, err := a.publishSpecs(ctx, gpus, ready)
	present := a.state.Layout()
	a.state.SetLayout(without(ready, func(s gpu.Slice) bool {
		_, before := present.Find(s.ID)
		return unwritten[s.ID] && !before
	}))
	return err
}

// cut carries out the steps of one GPU. On success no steps remain. What exists
// is read again in any case.
func (a *agent) cut(ctx context.Context, driver *nvml.Driver, w *work) error {
	busy, err := a.busy(ctx, driver, *w)
	if err != nil {
		return err
	}
	if w.steps, err = partitioner.Steps(w.gpu, w.instances, w.target, busy); err != nil {
		return err
	}
	defer a.hardware.forget() // its mode may be another one now
	executor := mig.New(driver)
	for len(w.steps) > 0 {
		if err = a.step(ctx, executor, w.steps[0]); err != nil {
			break
		}
		w.steps = w.steps[1:]
	}
	return errors.Join(err, w.look(ctx, driver))
}

func (a *agent) step(ctx context.Context, executor *mig.Executor, s partitioner.Step) error {
	start := time.Now()
	_, err := executor.Apply(ctx, s)
	a.metrics.steps.WithLabelValues(string(s.Kind), result(err)).Observe(time.Since(start).Seconds())
	if err != nil {
		return fmt.Errorf("%s on GPU %s: %w", s.Kind, s.GPU, err)
	}
	return nil
}

// busy names what of a GPU is in use, by whom it is held and by which processes
// are on it.
func (a *agent) busy(ctx context.Context, driver *nvml.Driver, w work) (map[string]bool, error) {
	busy := map[string]bool{}
	for _, st := range a.state.Snapshot().Slices {
		if (st.State != gpu.StateHeld && st.State != gpu.StateRetired) || !slices.Contains(st.Slice.GPUs, w.gpu.UUID) {
			continue
		}
		switch {
		case st.Instance != nil:
			busy[st.Instance.UUID] = true
		case st.Slice.Kind != gpu.KindMIG:
			busy[w.gpu.UUID] = true
		} // a MIG slice without instance waits to be made again, as after a reboot
	}
	processes, err := driver.Processes(ctx, w.gpu.UUID)
	if err != nil {
		return nil, fmt.Errorf("read processes of GPU %s: %w", w.gpu.UUID, err)
	}
	for _, p := range processes {
		name := w.gpu.UUID
		for _, in := range w.instances {
			if p.GIID >= 0 && p.GIID == in.GIID && in.UUID != "" {
				name = in.UUID
			}
		}
		busy[name] = true
	}
	return busy, nil
}

// attach tells the state which instance is behind each MIG slice of a GPU.
func (a *agent) attach(ctx context.Context, w work, l gpu.Layout) error {
	if !w.read {
		return nil // what was known stays
	}
	var errs []error
	for _, s := range l.Slices {
		if s.MIG != nil && slices.Contains(s.GPUs, w.gpu.UUID) {
			errs = append(errs, a.attachSlice(ctx, w, s))
		}
	}
	return errors.Join(errs...)
}

func (a *agent) attachSlice(ctx context.Context, w work, s gpu.Slice) error {
	i := slices.IndexFunc(w.instances, func(in gpu.Instance) bool {
		return in.CIID >= 0 && in.ProfileID == s.MIG.Profile.ID && in.Placement == s.MIG.Placement
	})
	if i < 0 {
		a.state.ClearInstance(s.ID)
		return a.specs.remove(s.ID)
	}
	in := w.instances[i]
	if err := a.specs.put(ctx, specdir.Target{Slice: s, GPUs: []gpu.GPU{w.gpu}, Instance: &in}); err != nil {
		a.state.ClearInstance(s.ID)
		return err
	}
	if err := a.state.SetInstance(s.ID, in); err != nil {
		return fmt.Errorf("attach instance: %w", err)
	}
	return nil
}

// publishSpecs writes what containers get of the slices that are not MIG, and
// names those for which it could not.
func (a *agent) publishSpecs(ctx context.Context, gpus []gpu.GPU, l gpu.Layout) (unwritten map[gpu.SliceID]bool, err error) {
	byUUID := map[string]gpu.GPU{}
	for _, g := range gpus {
		byUUID[g.UUID] = g
	}
	unwritten = map[gpu.SliceID]bool{}
	var errs []error
	for _, s := range l.Slices {
		if s.MIG != nil {
			continue
		}
		t := specdir.Target{Slice: s}
		for _, u := range s.GPUs {
			t.GPUs = append(t.GPUs, byUUID[u])
		}
		if err := a.specs.put(ctx, t); err != nil {
			unwritten[s.ID] = true
			errs = append(errs, err)
		}
	}
	return unwritten, errors.Join(errs...)
}

// sweep removes the specs of slices that are neither planned nor held.
func (a *agent) sweep() error {
	keep := map[gpu.SliceID]bool{}
	for _, st := range a.state.Snapshot().Slices {
		keep[st.Slice.ID] = true
	}
	return a.specs.sweep(func(id gpu.SliceID) bool { return keep[id] })
}
