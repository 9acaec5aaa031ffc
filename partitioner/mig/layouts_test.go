// SPDX-License-Identifier: Apache-2.0

package mig_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/partitioner"
	"aipub.io/aipub/partitioner/mig"
	"aipub.io/aipub/test/gpusim"
)

// maximalLayouts lists every set of instances of a GPU to which none can be
// added, from the profiles and placements that the driver tells.
func maximalLayouts(g gpu.GPU) [][]partitioner.Step {
	var all []partitioner.Step
	compute := 0
	for _, p := range g.MIG.Profiles {
		compute = max(compute, p.ComputeSlices)
		for _, at := range p.Placements {
			all = append(all, partitioner.Step{Kind: partitioner.CreateInstance, GPU: g.UUID, Profile: p, Placement: at})
		}
	}
	var layouts [][]partitioner.Step
	var grow func(from int, have []partitioner.Step)
	grow = func(from int, have []partitioner.Step) {
		full := true
		for i, s := range all {
			if fits(have, s, compute) {
				full = false
				if i >= from {
					grow(i+1, append(slices.Clone(have), s))
				}
			}
		}
		if full {
			layouts = append(layouts, have)
		}
	}
	grow(0, nil)
	return layouts
}

// fits reports whether an instance can stand beside others.
func fits(have []partitioner.Step, s partitioner.Step, compute int) bool {
	same, media, used := 0, s.Profile.MediaExtensions, s.Profile.ComputeSlices
	for _, h := range have {
		if h.Placement.Overlaps(s.Placement) || media && h.Profile.MediaExtensions {
			return false
		}
		if h.Profile.ID == s.Profile.ID {
			same++
		}
		used += h.Profile.ComputeSlices
	}
	return same < s.Profile.MaxCount && used <= compute
}

// TestEveryLayoutOfEveryModel creates and tears down every maximal layout, in a
// random order of the placements that were chosen before.
func TestEveryLayoutOfEveryModel(t *testing.T) {
	r := newRig(t, gpusim.Mixed)
	random := rand.New(rand.NewPCG(1, 2))
	for _, g := range r.gpus {
		t.Run(g.Model, func(t *testing.T) {
			r.t = t
			enable := partitioner.Step{Kind: partitioner.EnableMIG, GPU: g.UUID}
			if _, err := r.mig.Apply(r.ctx(), enable); err != nil {
				var reset *mig.ResetRequiredError
				if !errors.As(err, &reset) || g.MIG.LiveToggle {
					t.Fatal(err)
				}
				r.machine.Ctl("reset", g.UUID)
				r.apply(enable)
			}
			layouts := maximalLayouts(g)
			for _, layout := range layouts {
				random.Shuffle(len(layout), func(i, j int) { layout[i], layout[j] = layout[j], layout[i] })
				for _, s := range layout {
					r.apply(s)
				}
				have := r.instances(g)
				if len(have) != len(layout) {
					t.Fatalf("%d instances of %d", len(have), len(layout))
				}
				for _, inst := range have {
					if inst.CIID < 0 {
						t.Fatalf("half made: %+v", inst)
					}
					r.apply(undo(inst))
				}
			}
			if left := r.instances(g); len(left) > 0 || len(layouts) < 4 {
				t.Errorf("%d layouts, left: %+v", len(layouts), left)
			}
			t.Logf("%d maximal layouts", len(layouts))
		})
	}
}
