// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

const cases = 400 // random policies for each property

// TestNothingIsOvercommitted takes slices in random order for as long as the
// counters allow, and then looks at the hardware instead of the counters.
func TestNothingIsOvercommitted(t *testing.T) {
	for seed := range uint64(cases) {
		g := newGenerator(seed)
		n, spec := g.node("n"), g.policy(true)
		l, r := planned(t, n, spec)
		if err := checkLayout(l); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 3 {
			held, _ := g.fill(l)
			if err := checkHardware(n, spec, l, held); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if err := checkReport(n, l, r); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestNoGPUIsStranded checks the promise of even division: as long as the policy
// sets no sizes of its own, a slice that its GPU has room for can be taken,
// whatever else is held; and CPU-only slices never stand in the way.
func TestNoGPUIsStranded(t *testing.T) {
	for seed := range uint64(cases) {
		g := newGenerator(seed)
		n, spec := g.node("n"), g.policy(false)
		l, r := planned(t, n, spec)
		for _, s := range r.Sets {
			if s.Lost > 0 && !starved(r) {
				t.Fatalf("seed %d: set %s: %d places lost for lack of CPU or memory: %v", seed, s.Name, s.Lost, r.Rejections)
			}
		}
		for range 3 {
			held, left := g.fill(l)
			for _, s := range l.Slices {
				if held[s.ID] || s.Kind == gpu.KindCPU || !gpuHasRoom(s, left) {
					continue
				}
				if short, ok := s.Fits(left); !ok {
					t.Fatalf("seed %d: %s is stranded for lack of %s", seed, s.ID, short)
				}
			}
		}
	}
}

// starved reports whether the CPU-only sets that the policy sets aside leave the
// GPUs of a zone less than the smallest set: that is the policy's own wish.
func starved(r Report) bool {
	return slices.ContainsFunc(r.Zones, func(z ZoneReport) bool {
		return z.GPUs > 0 && z.CPUMilli/int64(z.GPUs) < 20*cpuStep
	})
}

// gpuHasRoom reports whether the GPU counters alone allow a slice.
func gpuHasRoom(s gpu.Slice, left map[gpu.Counter]int64) bool {
	for _, u := range s.Uses {
		if strings.HasPrefix(string(u.Counter), "gpu/") && left[u.Counter] < u.Amount {
			return false
		}
	}
	return true
}

// fill takes a random number of slices in random order.
func (g generator) fill(l gpu.Layout) (map[gpu.SliceID]bool, map[gpu.Counter]int64) {
	held, left := map[gpu.SliceID]bool{}, maps.Clone(l.Totals)
	take := 1 + g.IntN(len(l.Slices)+1)
	for _, i := range g.Perm(len(l.Slices)) {
		s := l.Slices[i]
		if _, ok := s.Fits(left); !ok || len(held) >= take {
			continue
		}
		held[s.ID] = true
		change(left, s, -1)
	}
	return held, left
}

var idPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// checkLayout checks what holds for every layout: IDs, order, and that each set
// alone can be held whole.
func checkLayout(l gpu.Layout) error {
	seen := map[gpu.SliceID]bool{}
	alone := map[string]map[gpu.Counter]int64{}
	for _, s := range l.Slices {
		if !idPattern.MatchString(string(s.ID)) || len(s.ID) > gpu.MaxSliceIDLength || seen[s.ID] {
			return fmt.Errorf("slice ID %q: malformed, too long or not unique", s.ID)
		}
		seen[s.ID] = true
		if alone[s.Set] == nil {
			alone[s.Set] = maps.Clone(l.Totals)
		}
		for _, u := range s.Uses {
			if _, ok := l.Totals[u.Counter]; !ok || u.Amount <= 0 {
				return fmt.Errorf("slice %s uses %d of %s, which is no counter or no amount", s.ID, u.Amount, u.Counter)
			}
		}
		if short, ok := s.Fits(alone[s.Set]); !ok {
			return fmt.Errorf("slice %s does not fit beside those of its own set: %s is short", s.ID, short)
		}
		change(alone[s.Set], s, -1)
	}
	for set, n := range Free(l, nil) {
		if n != countsOf(l)[set] {
			return fmt.Errorf("set %s: %d of %d are free on an empty node", set, n, countsOf(l)[set])
		}
	}
	return nil
}

// checkHardware adds up what is held on the real things.
func checkHardware(n Node, spec api.PartitionPolicySpec, l gpu.Layout, held map[gpu.SliceID]bool) error {
	var host amount
	percent, memory, modes := map[string]int{}, map[string]int64{}, map[string][]gpu.Slice{}
	perNUMA := map[int]amount{}
	for _, s := range l.Slices {
		if !held[s.ID] {
			continue
		}
		size := amount{s.CPUMilli, s.MemoryBytes}
		host = host.plus(size)
		if len(s.NUMANodes) == 1 {
			perNUMA[s.NUMANodes[0]] = perNUMA[s.NUMANodes[0]].plus(size)
		}
		for _, u := range s.GPUs {
			modes[u] = append(modes[u], s)
			if s.Block != nil {
				percent[u] += s.Block.Percent
				memory[u] += s.Block.MemoryBytes
			}
		}
	}
	if room := (amount{n.CPUMilli, n.MemoryBytes}).minus(reserveOf(spec)); !host.fits(room) {
		return fmt.Errorf("held %v of %v", host, room)
	}
	if zones := zonesOf(n, spec); len(zones) > 1 {
		for _, z := range zones {
			if !perNUMA[z.numa].fits(z.cap) {
				return fmt.Errorf("%s: held %v of %v", z.name, perNUMA[z.numa], z.cap)
			}
		}
	}
	for _, g := range n.GPUs {
		if percent[g.UUID] > 100 || memory[g.UUID] > g.MemoryBytes {
			return fmt.Errorf("GPU %d: %d percent, %d bytes held", g.Index, percent[g.UUID], memory[g.UUID])
		}
		if err := checkExclusive(g, l.Modes[g.UUID], modes[g.UUID]); err != nil {
			return fmt.Errorf("GPU %d: %w", g.Index, err)
		}
	}
	return nil
}

// checkExclusive checks that a GPU holds slices of its mode only, one if it is
// whole, and MIG instances that exist beside each other.
func checkExclusive(g gpu.GPU, mode gpu.Mode, on []gpu.Slice) error {
	b := &strictBoard{}
	if g.MIG != nil {
		b.profiles = g.MIG.Profiles
	}
	for _, s := range on {
		if modeFor(s.Kind) != mode || s.Kind == gpu.KindWhole && len(on) > 1 {
			return fmt.Errorf("in mode %q it holds %s beside %d others", mode, s.ID, len(on)-1)
		}
		if s.MIG != nil {
			if err := b.create(*s.MIG); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkReport compares the report with the layout.
func checkReport(n Node, l gpu.Layout, r Report) error {
	counts := countsOf(l)
	for _, s := range r.Sets {
		if s.Alone != counts[s.Name] || s.Together > s.Alone {
			return fmt.Errorf("set %s: report %+v, layout has %d", s.Name, s, counts[s.Name])
		}
		said := func(x api.Rejection) bool { return x.Set == s.Name && x.Message != "" && x.Reason != "" }
		if s.Alone == 0 && !slices.ContainsFunc(slices.Concat(r.Rejections, r.Absent), said) {
			return fmt.Errorf("set %s: none, and nothing says why", s.Name)
		}
	}
	if r.Remainder.CPUMilli < 0 || r.Remainder.MemoryBytes < 0 || r.Remainder.CPUMilli > n.CPUMilli {
		return fmt.Errorf("remainder %+v", r.Remainder)
	}
	return nil
}

// TestPlansRepeat checks that the same input gives the same plan, and that
// neither a new driver index nor another set changes the ID of a slice.
func TestPlansRepeat(t *testing.T) {
	for seed := range uint64(cases / 4) {
		g := newGenerator(seed)
		n, spec := g.node("n"), g.policy(false)
		first, _ := planned(t, n, spec)
		again, _ := planned(t, n, spec)
		if !slices.EqualFunc(first.Slices, again.Slices, func(a, b gpu.Slice) bool { return a.ID == b.ID }) {
			t.Fatalf("seed %d: two plans of the same differ", seed)
		}
	}
}
