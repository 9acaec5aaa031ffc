// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// migModel is what the policy's MIG sets mean on one model of GPU. It is worked
// out once for all GPUs that offer the same profiles.
type migModel struct {
	profiles []gpu.Profile
	board    board
	options  []migOption // from large to small
	// twins are sets that mean the same profile as an earlier one.
	twins map[int]int
	// reach is the most compute slices that any mixture of the sets uses.
	reach int
	// layouts are the target layouts, by rule index.
	layouts map[int]migLayout
}

// migLayout is the target of the GPUs that one rule gives MIG mode to.
type migLayout struct {
	placed []migInstance
	// refusal says why the rule's fixed layout cannot be, or is empty.
	refusal string
}

// newMIGModel matches the sets to the profiles of a GPU.
func newMIGModel(profiles []gpu.Profile, parts []part) *migModel {
	m := &migModel{profiles: profiles, board: boardOf(profiles), twins: map[int]int{}, layouts: map[int]migLayout{}}
	for i, p := range parts {
		if p.kind != gpu.KindMIG {
			continue
		}
		profile, ok := MatchProfile(profiles, *p.gpu.MIG)
		if !ok {
			continue
		}
		same := func(o migOption) bool { return o.profile.ID == profile.ID && o.profile.Enum == profile.Enum }
		if k := slices.IndexFunc(m.options, same); k >= 0 {
			m.twins[i] = m.options[k].part
			continue
		}
		m.options = append(m.options, migOption{part: i, profile: profile, most: profile.MaxCount})
	}
	sortOptions(m.options)
	best, placed := bestMixture(m.options, m.board)
	m.reach = best.compute
	m.layouts[noRule] = migLayout{placed: placed}
	return m
}

// layout is the target layout that a rule means.
func (m *migModel) layout(spec api.PartitionPolicySpec, rule int, parts []part) migLayout {
	if rule == noRule || len(spec.GPUs[rule].Layout) == 0 {
		return m.layouts[noRule]
	}
	l, ok := m.layouts[rule]
	if !ok {
		l = m.fixed(spec.GPUs[rule].Layout, rule, parts)
		m.layouts[rule] = l
	}
	return l
}

// fixed places exactly the instances that a rule names.
func (m *migModel) fixed(want []api.SetCount, rule int, parts []part) migLayout {
	counts := make([]int, len(m.options))
	for _, w := range want {
		k := m.optionOf(w.Set, parts)
		if k < 0 {
			return migLayout{refusal: m.refuseUnknown(w, rule, parts)}
		}
		counts[k] += int(w.Count)
	}
	if m.legal(counts) {
		if placed, ok := placeAll(m.options, counts); ok {
			return migLayout{placed: placed}
		}
	}
	return migLayout{refusal: m.refuseCounts(counts, want, rule, parts)}
}

// legal reports whether the counts are within the space and the limits of each
// profile, which is necessary for them to be placed.
func (m *migModel) legal(counts []int) bool {
	compute, memory, media := 0, 0, 0
	for i, n := range counts {
		o := m.options[i]
		if n < 0 || n > o.profile.MaxCount {
			return false
		}
		compute += n * o.compute()
		memory += n * o.memory()
		if o.profile.MediaExtensions {
			media += n
		}
	}
	return compute <= m.board.compute && memory <= m.board.memory && media <= 1
}

// optionOf is the option of a set by name, or -1.
func (m *migModel) optionOf(set string, parts []part) int {
	return slices.IndexFunc(m.options, func(o migOption) bool { return parts[o.part].name == set })
}

// sameProfiles reports whether two GPUs offer the same.
func sameProfiles(a, b []gpu.Profile) bool {
	return slices.EqualFunc(a, b, func(p, q gpu.Profile) bool {
		return p.Enum == q.Enum && p.ID == q.ID && p.Name == q.Name &&
			p.ComputeSlices == q.ComputeSlices && p.MemorySlices == q.MemorySlices &&
			p.Multiprocessors == q.Multiprocessors && p.MemoryBytes == q.MemoryBytes &&
			p.MaxCount == q.MaxCount && p.MediaExtensions == q.MediaExtensions &&
			slices.Equal(p.Placements, q.Placements)
	})
}
