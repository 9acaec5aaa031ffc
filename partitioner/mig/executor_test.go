// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/partitioner/mig"
	"aipub.io/aipub/test/gpusim"
)

// rig is a simulated machine with an executor for it.
type rig struct {
	t       *testing.T
	machine *gpusim.Machine
	driver  *nvml.Driver
	mig     *mig.Executor
	gpus    []gpu.GPU
}

func newRig(t *testing.T, description string) *rig {
	t.Helper()
	r := &rig{t: t, machine: gpusim.New(t, description)}
	r.machine.Activate()
	var err error
	r.driver, err = nvml.Open(nvml.Config{LibraryPath: r.machine.LibraryPath(), Sysfs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.driver.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r.mig = mig.New(r.driver)
	inv, err := r.driver.Inventory(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	r.gpus = inv.GPUs
	return r
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	r.t.Cleanup(cancel)
	return ctx
}

// find returns the GPU of a model.
func (r *rig) find(model string) gpu.GPU {
	r.t.Helper()
	for _, g := range r.gpus {
		if strings.Contains(g.Model, model) {
			return g
		}
	}
	r.t.Fatalf("no GPU %s", model)
	return gpu.GPU{}
}

func (r *rig) instances(g gpu.GPU) []gpu.Instance {
	r.t.Helper()
	out, err := r.driver.Instances(r.ctx(), g.UUID)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *rig) apply(s partitioner.Step) gpu.Instance {
	r.t.Helper()
	inst, err := r.mig.Apply(r.ctx(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	return inst
}

func (r *rig) enable(g gpu.GPU) {
	r.t.Helper()
	r.apply(partitioner.Step{Kind: partitioner.EnableMIG, GPU: g.UUID})
}

// step makes a step that creates an instance.
func step(g gpu.GPU, profile string, start int) partitioner.Step {
	for _, p := range g.MIG.Profiles {
		if p.Name == profile {
			return partitioner.Step{
				Kind: partitioner.CreateInstance, GPU: g.UUID, Profile: p,
				Placement: gpu.Placement{Start: start, Size: p.MemorySlices},
			}
		}
	}
	panic("no profile " + profile) // a mistake in the test itself
}

func undo(inst gpu.Instance) partitioner.Step {
	return partitioner.Step{Kind: partitioner.DestroyInstance, GPU: inst.GPU, Instance: inst}
}

func TestCreateAdoptDestroy(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	g := r.gpus[1]
	r.enable(g)
	r.enable(g) // already on
	var made []gpu.Instance
	for _, s := range []partitioner.Step{step(g, "1g.35gb", 6), step(g, "1g.18gb+me", 5), step(g, "4g.71gb", 0)} {
		made = append(made, r.apply(s))
	}
	for i, want := range []gpu.Placement{{Start: 6, Size: 2}, {Start: 5, Size: 1}, {Start: 0, Size: 4}} {
		if made[i].Placement != want || made[i].CIID < 0 || !strings.HasPrefix(made[i].UUID, "MIG-") {
			t.Errorf("made %+v", made[i])
		}
	}
	// What a later start reads is what was returned, so it can be adopted.
	if diff := cmp.Diff([]gpu.Instance{made[2], made[1], made[0]}, r.instances(g)); diff != "" {
		t.Errorf("instances (-made +read):\n%s", diff)
	}
	for _, inst := range made {
		r.apply(undo(inst))
		r.apply(undo(inst)) // gone already
	}
	if left := r.instances(g); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	r.apply(partitioner.Step{Kind: partitioner.DisableMIG, GPU: g.UUID})
	r.apply(undo(made[0])) // even with MIG off
}

func TestRefusals(t *testing.T) {
	type check func(error) bool
	as := func(target any) check { return func(err error) bool { return errors.As(err, target) } }
	var (
		room  *mig.NoRoomError
		use   *mig.InUseError
		stale *mig.StaleError
		off   *mig.ModeOffError
	)
	tests := map[string]struct {
		setup func(r *rig, g gpu.GPU)
		step  func(r *rig, g gpu.GPU) partitioner.Step
		is    check
		retry bool
		words []string
	}{
		"placement is taken": {
			setup: func(r *rig, g gpu.GPU) { r.apply(step(g, "3g.71gb", 0)) },
			step:  func(_ *rig, g gpu.GPU) partitioner.Step { return step(g, "1g.18gb", 2) },
			is:    as(&room),
			words: []string{"create MIG 1g.18gb at 2:1", "memory slices 2 to 2", "plan again"},
		},
		"compute slices are used up": {
			setup: func(r *rig, g gpu.GPU) {
				r.apply(step(g, "4g.71gb", 0))
				r.apply(step(g, "2g.35gb", 4))
				r.apply(step(g, "1g.18gb", 6))
			},
			step: func(_ *rig, g gpu.GPU) partitioner.Step { return step(g, "1g.35gb", 6) },
			is:   as(&room),
		},
		"placement is none": {
			step:  func(_ *rig, g gpu.GPU) partitioner.Step { return step(g, "3g.71gb", 2) },
			words: []string{"create MIG 3g.71gb at 2:4"},
		},
		"a process runs in the instance": {
			setup: func(r *rig, g gpu.GPU) {
				inst := r.apply(step(g, "1g.18gb", 0))
				r.machine.Ctl("process", "add", fmt.Sprintf("0/%d/%d", inst.GIID, inst.CIID), "77")
			},
			step:  func(r *rig, g gpu.GPU) partitioner.Step { return undo(r.instances(g)[0]) },
			is:    as(&use),
			retry: true,
			words: []string{"in use", "wait for it to end"},
		},
		"another instance has the number": {
			setup: func(r *rig, g gpu.GPU) { r.apply(step(g, "1g.18gb", 0)) },
			step: func(r *rig, g gpu.GPU) partitioner.Step {
				inst := r.instances(g)[0]
				inst.Placement.Start = 3
				return undo(inst)
			},
			is:    as(&stale),
			retry: true,
		},
		"the same place was made anew": {
			setup: func(r *rig, g gpu.GPU) { r.apply(step(g, "1g.18gb", 0)) },
			step: func(r *rig, g gpu.GPU) partitioner.Step {
				inst := r.instances(g)[0]
				inst.UUID = "MIG-00000000-0000-0000-0000-000000000000"
				return undo(inst)
			},
			is:    as(&stale),
			retry: true,
		},
		"profile number has changed": {
			step: func(_ *rig, g gpu.GPU) partitioner.Step {
				s := step(g, "1g.18gb", 0)
				s.Profile.ID = 1
				return s
			},
			is:    as(&stale),
			retry: true,
		},
		"MIG mode is off": {
			step: func(r *rig, _ gpu.GPU) partitioner.Step { return step(r.gpus[2], "1g.18gb", 0) },
			is:   as(&off),
		},
		"MIG mode off while instances exist": {
			setup: func(r *rig, g gpu.GPU) { r.apply(step(g, "1g.18gb", 0)) },
			step: func(_ *rig, g gpu.GPU) partitioner.Step {
				return partitioner.Step{Kind: partitioner.DisableMIG, GPU: g.UUID}
			},
			is:    as(&use),
			retry: true,
		},
		"unknown kind": {
			step:  func(_ *rig, g gpu.GPU) partitioner.Step { return partitioner.Step{Kind: "Melt", GPU: g.UUID} },
			words: []string{`"Melt" is unknown`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gpusim.ThreeH200)
			g := r.gpus[0]
			r.enable(g)
			if tc.setup != nil {
				tc.setup(r, g)
			}
			before := r.instances(g)
			_, err := r.mig.Apply(r.ctx(), tc.step(r, g))
			if err == nil {
				t.Fatal("no error")
			}
			if tc.is != nil && !tc.is(err) {
				t.Errorf("error of the wrong type: %v", err)
			}
			if errors.Is(err, mig.ErrRetry) != tc.retry {
				t.Errorf("retry = %v: %v", !tc.retry, err)
			}
			for _, w := range tc.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if diff := cmp.Diff(before, r.instances(g)); diff != "" {
				t.Errorf("the refused step changed instances:\n%s", diff)
			}
		})
	}
}

func TestFailureLeavesNothingBehind(t *testing.T) {
	for _, call := range []string{"GpuInstanceGetInfo", "GpuInstanceCreateComputeInstance", "ComputeInstanceGetInfo"} {
		t.Run(call, func(t *testing.T) {
			r := newRig(t, gpusim.ThreeH200)
			g := r.gpus[0]
			r.enable(g)
			r.machine.Ctl("fail", call, "UNKNOWN", "--times", "1")
			if _, err := r.mig.Apply(r.ctx(), step(g, "2g.35gb", 4)); err == nil {
				t.Fatal("no error")
			}
			if left := r.instances(g); len(left) > 0 {
				t.Fatalf("left: %+v", left)
			}
			r.apply(step(g, "2g.35gb", 4))
		})
	}
}

func TestHalfMadeInstanceIsReported(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	g := r.gpus[0]
	r.enable(g)
	r.machine.Ctl("fail", "GpuInstanceCreateComputeInstance", "UNKNOWN", "--times", "1")
	r.machine.Ctl("fail", "GpuInstanceDestroy", "IN_USE", "--times", "1")
	_, err := r.mig.Apply(r.ctx(), step(g, "1g.18gb", 0))
	if err == nil || !strings.Contains(err.Error(), "take the GPU instance back") {
		t.Fatalf("error %v", err)
	}
	left := r.instances(g)
	if len(left) != 1 || left[0].CIID != -1 {
		t.Fatalf("left: %+v", left)
	}
	r.apply(undo(left[0]))
	if left := r.instances(g); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

func TestModeOfAmpereWaitsForReset(t *testing.T) {
	r := newRig(t, gpusim.Mixed)
	g := r.find("A100-SXM4-80GB")
	_, err := r.mig.Apply(r.ctx(), partitioner.Step{Kind: partitioner.EnableMIG, GPU: g.UUID})
	var reset *mig.ResetRequiredError
	if !errors.As(err, &reset) || !reset.Enable || !strings.Contains(err.Error(), "nvidia-smi --gpu-reset -i "+g.UUID) {
		t.Fatalf("error %v", err)
	}
	r.machine.Ctl("reset", g.UUID)
	r.enable(g)
	r.apply(step(g, "1g.10gb", 6))
}

func TestLateStepIsFoundAgain(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	g := r.gpus[0]
	r.enable(g)
	r.machine.Ctl("latency", "GpuInstanceCreateComputeInstance", "300")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.mig.Apply(ctx, step(g, "1g.18gb", 0)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	got := r.instances(g) // waits for the step, then sees all of it
	if len(got) != 1 || got[0].CIID < 0 || got[0].UUID == "" {
		t.Errorf("instances %+v", got)
	}
}

func TestStepsOfSeveralCallers(t *testing.T) {
	r := newRig(t, gpusim.ThreeH200)
	errs := make(chan error, 100)
	for _, g := range r.gpus {
		r.enable(g)
		for start := range 7 {
			go func() {
				_, err := r.mig.Apply(r.ctx(), step(g, "1g.18gb", start))
				errs <- err
			}()
		}
	}
	for range 7 * len(r.gpus) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	seen := map[string]bool{}
	for _, g := range r.gpus {
		for i, inst := range r.instances(g) {
			if inst.Placement.Start != i || seen[inst.UUID] {
				t.Errorf("instance %d of GPU %d: %+v", i, g.Index, inst)
			}
			seen[inst.UUID] = true
		}
	}
	if len(seen) != 21 {
		t.Errorf("%d instances", len(seen))
	}
}
