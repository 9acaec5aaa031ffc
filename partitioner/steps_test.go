// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// profileNamed finds a profile of the table.
func profileNamed(name string) gpu.Profile {
	table := sevenOfEight(16.5)
	return table[slices.IndexFunc(table, func(p gpu.Profile) bool { return p.Name == name })]
}

// target and instance are at a start; an instance's UUID says what it is.
func target(name string, start int) gpu.MIGTarget {
	p := profileNamed(name)
	return gpu.MIGTarget{Profile: p, Placement: gpu.Placement{Start: start, Size: p.MemorySlices}}
}

func instance(name string, start int) gpu.Instance {
	t := target(name, start)
	return gpu.Instance{GPU: h200(0, 0).UUID, ProfileID: t.Profile.ID, Placement: t.Placement, GIID: start + 1,
		UUID: fmt.Sprintf("MIG-%s-%d", name, start)}
}

func halfMade(in gpu.Instance) gpu.Instance { in.CIID, in.UUID = -1, ""; return in }

// stepText prints steps as words, to be compared.
func stepText(steps []Step) []string {
	var out []string
	for _, s := range steps {
		switch s.Kind {
		case CreateInstance:
			out = append(out, fmt.Sprintf("create %s at %d", s.Profile.Name, s.Placement.Start))
		case DestroyInstance:
			out = append(out, fmt.Sprintf("destroy GI %d", s.Instance.GIID))
		default:
			out = append(out, string(s.Kind))
		}
	}
	return out
}

func TestSteps(t *testing.T) {
	off := h200(0, 0)
	on := h200(0, 0)
	on.MIG = &gpu.MIG{Enabled: true, Profiles: off.MIG.Profiles}
	plain := h200(0, 0)
	plain.MIG = nil
	cases := map[string]struct {
		gpu     gpu.GPU
		current []gpu.Instance
		target  []gpu.MIGTarget
		busy    []string
		want    []string
		reason  string
		holding []string
	}{
		"an idle GPU is switched, then cut": {
			gpu: off, target: []gpu.MIGTarget{target("3g", 4), target("1g", 0)},
			want: []string{"EnableMIG", "create 3g at 4", "create 1g at 0"},
		},
		"what is there already is adopted": {
			gpu: on, current: []gpu.Instance{instance("3g", 4), instance("1g", 0)}, target: []gpu.MIGTarget{target("3g", 4), target("1g", 0)},
			busy: []string{"MIG-3g-4"},
		},
		"the same profile elsewhere is not the same": {
			gpu: on, current: []gpu.Instance{instance("3g", 0)}, target: []gpu.MIGTarget{target("3g", 4)},
			want: []string{"destroy GI 1", "create 3g at 4"},
		},
		"what is missing is made beside what is in use": {
			gpu: on, current: []gpu.Instance{instance("3g", 4)}, target: []gpu.MIGTarget{target("3g", 4), target("1g", 0)},
			busy: []string{"MIG-3g-4"},
			want: []string{"create 1g at 0"},
		},
		"half-made instances are made anew, even beside what is in use": {
			gpu: on, current: []gpu.Instance{instance("3g", 4), halfMade(instance("1g", 0))}, target: []gpu.MIGTarget{target("3g", 4), target("1g", 0)},
			busy: []string{"MIG-3g-4"},
			want: []string{"destroy GI 1", "create 1g at 0"},
		},
		"foreign ones in use are waited for": {
			gpu: on, current: []gpu.Instance{instance("2g", 0), instance("2g", 4)}, target: []gpu.MIGTarget{target("3g", 0)},
			busy: []string{"MIG-2g-0"}, reason: api.ReasonWaitingForIdle, holding: []string{"MIG-2g-0"},
		},
		"foreign ones beside others in use stay while they are not in the way": {
			gpu: on, current: []gpu.Instance{instance("1g", 0), instance("3g", 4)}, target: []gpu.MIGTarget{target("1g", 0), target("1g", 1)},
			busy: []string{"MIG-1g-0"},
			want: []string{"create 1g at 1"},
		},
		"too few compute slices are in the way as well": {
			gpu: on, current: []gpu.Instance{instance("3g", 0), instance("3g", 4)}, target: []gpu.MIGTarget{target("4g", 0)},
			busy: []string{"MIG-3g-4"}, reason: api.ReasonWaitingForIdle, holding: []string{"MIG-3g-4"},
		},
		"no target means MIG off": {
			gpu: on, current: []gpu.Instance{instance("2g", 0)},
			want: []string{"destroy GI 1", "DisableMIG"},
		},
		"which waits for whoever uses an instance": {
			gpu: on, current: []gpu.Instance{instance("2g", 0)}, busy: []string{"MIG-2g-0"},
			reason: api.ReasonWaitingForIdle, holding: []string{"MIG-2g-0"},
		},
		"MIG on waits for whoever uses the whole GPU": {
			gpu: off, target: []gpu.MIGTarget{target("7g", 0)}, busy: []string{off.UUID},
			reason: api.ReasonWaitingForIdle, holding: []string{off.UUID},
		},
		"nothing to do without MIG":           {gpu: plain},
		"MIG is asked of a GPU without it":    {gpu: plain, target: []gpu.MIGTarget{target("7g", 0)}, reason: api.ReasonHardware},
		"a whole GPU in use is left in peace": {gpu: off, busy: []string{off.UUID}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			busy := map[string]bool{}
			for _, b := range tc.busy {
				busy[b] = true
			}
			steps, err := Steps(tc.gpu, tc.current, tc.target, busy)
			var got StepError
			if se := (*StepError)(nil); errors.As(err, &se) {
				got = *se
			}
			if got.Reason != tc.reason || !slices.Equal(got.Holding, tc.holding) {
				t.Errorf("error %v, want reason %q holding %v", err, tc.reason, tc.holding)
			}
			if diff := cmp.Diff(tc.want, stepText(steps)); diff != "" {
				t.Errorf("steps (-want +got): %s", diff)
			}
		})
	}
}

// TestStepsReachEveryLayout carries out the steps between any two layouts of a
// strict board.
func TestStepsReachEveryLayout(t *testing.T) {
	profiles := only(sevenOfEight(16.5), 19, 14, 9, 5, 0)
	var targets [][]gpu.MIGTarget
	n := migNode(profiles)
	for _, counts := range exhaust(profiles).multisets {
		l, _ := planned(t, n, fixed(profiles, counts, orders(len(counts))[0]))
		var ts []gpu.MIGTarget
		for _, s := range l.Slices {
			ts = append(ts, *s.MIG)
		}
		targets = append(targets, ts)
	}
	for _, from := range targets {
		for _, to := range targets {
			if err := walkSteps(n.GPUs[0], from, to); err != nil {
				t.Fatalf("from %v to %v: %v", from, to, err)
			}
		}
	}
}

func walkSteps(g gpu.GPU, from, to []gpu.MIGTarget) error {
	g.MIG = &gpu.MIG{Enabled: true, Profiles: g.MIG.Profiles}
	b := &strictBoard{profiles: g.MIG.Profiles, made: slices.Clone(from)}
	var current []gpu.Instance
	for i, f := range from {
		current = append(current, gpu.Instance{GPU: g.UUID, ProfileID: f.Profile.ID, Placement: f.Placement, GIID: i, UUID: fmt.Sprint(i)})
	}
	steps, err := Steps(g, current, to, nil)
	if err != nil {
		return err
	}
	for _, s := range steps {
		switch s.Kind {
		case DestroyInstance:
			b.made = slices.DeleteFunc(b.made, func(m gpu.MIGTarget) bool {
				return m.Profile.ID == s.Instance.ProfileID && m.Placement == s.Instance.Placement
			})
		case CreateInstance:
			if err := b.create(gpu.MIGTarget{Profile: s.Profile, Placement: s.Placement}); err != nil {
				return err
			}
		case EnableMIG, DisableMIG:
			return fmt.Errorf("step %s between two MIG layouts", s.Kind)
		}
	}
	if len(b.made) != len(to) {
		return fmt.Errorf("%d instances, want %d", len(b.made), len(to))
	}
	return nil
}
