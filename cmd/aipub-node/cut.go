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
// first everything that needs no change of the hardware, then each GPU that
// does. One GPU's trouble does not hold up the others.
func (a *agent) carryOut(ctx context.Context, driver *nvml.Driver, gpus []gpu.GPU, next gpu.Layout) error {
	works, err := a.works(ctx, driver, gpus, next)
	if err != nil {
		return err
	}
	ready := withhold(next, works)
	if err := a.publishSpecs(ctx, gpus, ready); err != nil {
		return err
	}
	a.state.SetLayout(ready)
	var errs []error
	for i := range works {
		if err := a.cut(ctx, driver, &works[i]); err != nil {
			errs = append(errs, err)
		}
	}
	ready = withhold(next, works)
	if err := a.publishSpecs(ctx, gpus, ready); err != nil {
		return errors.Join(append(errs, err)...)
	}
	a.state.SetLayout(ready)
	for _, w := range works {
		if err := a.attach(ctx, w, ready); err != nil {
			errs = append(errs, err)
		}
	}
	if err := a.sweep(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// work is one MIG-capable GPU on the way to its target.
type work struct {
	gpu       gpu.GPU
	target    []gpu.MIGTarget
	instances []gpu.Instance
	steps     []partitioner.Step
}

// works looks at each GPU that has, or shall have, MIG instances.
func (a *agent) works(ctx context.Context, driver *nvml.Driver, gpus []gpu.GPU, next gpu.Layout) ([]work, error) {
	var out []work
	for _, g := range gpus {
		mode, planned := next.Modes[g.UUID]
		if !planned || g.MIG == nil || (mode != gpu.ModeMIG && !g.MIG.Enabled) {
			continue
		}
		w := work{gpu: g, target: targets(next, g.UUID)}
		var err error
		if w.instances, err = driver.Instances(ctx, g.UUID); err != nil {
			return nil, fmt.Errorf("read MIG instances of GPU %s: %w", g.UUID, err)
		}
		if w.steps, err = partitioner.Steps(g, w.instances, w.target, nil); err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
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
		busy[w.gpu.UUID] = len(w.steps) > 0
	}
	l.Slices = slices.DeleteFunc(slices.Clone(l.Slices), func(s gpu.Slice) bool {
		return s.MIG == nil && slices.ContainsFunc(s.GPUs, func(u string) bool { return busy[u] })
	})
	return l
}

// cut carries out the steps of one GPU. On success no steps remain.
func (a *agent) cut(ctx context.Context, driver *nvml.Driver, w *work) error {
	if len(w.steps) == 0 {
		return nil
	}
	defer a.hardware.forget() // its mode may be another one now
	busy, err := a.busy(ctx, driver, *w)
	if err != nil {
		return err
	}
	if w.steps, err = partitioner.Steps(w.gpu, w.instances, w.target, busy); err != nil {
		return err
	}
	executor := mig.New(driver)
	for len(w.steps) > 0 {
		step := w.steps[0]
		start := time.Now()
		_, err := executor.Apply(ctx, step)
		a.metrics.steps.WithLabelValues(string(step.Kind), result(err)).Observe(time.Since(start).Seconds())
		if err != nil {
			return fmt.Errorf("%s on GPU %s: %w", step.Kind, step.GPU, err)
		}
		a.log.Info("partitioned", "step", step.Kind, "gpu", step.GPU, "profile", step.Profile.Name, "placement", step.Placement)
		w.steps = w.steps[1:]
	}
	if w.instances, err = driver.Instances(ctx, w.gpu.UUID); err != nil {
		return fmt.Errorf("read MIG instances of GPU %s: %w", w.gpu.UUID, err)
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
		if st.Instance != nil {
			busy[st.Instance.UUID] = true
		} else {
			busy[w.gpu.UUID] = true
		}
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
	var errs []error
	for _, s := range l.Slices {
		if s.MIG == nil || !slices.Contains(s.GPUs, w.gpu.UUID) {
			continue
		}
		i := slices.IndexFunc(w.instances, func(in gpu.Instance) bool {
			return in.CIID >= 0 && in.ProfileID == s.MIG.Profile.ID && in.Placement == s.MIG.Placement
		})
		if i < 0 {
			a.state.ClearInstance(s.ID)
			continue
		}
		in := w.instances[i]
		if err := a.specs.put(ctx, specdir.Target{Slice: s, GPUs: []gpu.GPU{w.gpu}, Instance: &in}); err != nil {
			a.state.ClearInstance(s.ID)
			errs = append(errs, err)
			continue
		}
		if err := a.state.SetInstance(s.ID, in); err != nil {
			errs = append(errs, fmt.Errorf("attach instance: %w", err))
		}
	}
	return errors.Join(errs...)
}

// publishSpecs writes what containers get of the slices that are not MIG.
func (a *agent) publishSpecs(ctx context.Context, gpus []gpu.GPU, l gpu.Layout) error {
	byUUID := map[string]gpu.GPU{}
	for _, g := range gpus {
		byUUID[g.UUID] = g
	}
	var errs []error
	for _, s := range l.Slices {
		if s.MIG != nil {
			continue
		}
		t := specdir.Target{Slice: s}
		for _, u := range s.GPUs {
			t.GPUs = append(t.GPUs, byUUID[u])
		}
		errs = append(errs, a.specs.put(ctx, t))
	}
	return errors.Join(errs...)
}

// sweep removes the specs of slices that are neither planned nor held.
func (a *agent) sweep() error {
	keep := map[gpu.SliceID]bool{}
	for _, st := range a.state.Snapshot().Slices {
		keep[st.Slice.ID] = true
	}
	return a.specs.sweep(func(id gpu.SliceID) bool { return keep[id] })
}
