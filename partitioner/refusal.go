// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
)

// refuseUnknown says why a layout cannot name a set on this model.
func (m *migModel) refuseUnknown(w api.SetCount, rule int, parts []part) string {
	path := fmt.Sprintf("spec.gpus[%d].layout", rule)
	for i, p := range parts {
		if p.name != w.Set {
			continue
		}
		if twin, ok := m.twins[i]; ok {
			return fmt.Sprintf("%s: set %q means the same instance as set %q; name only %q", path, w.Set, parts[twin].name, parts[twin].name)
		}
		if p.gpu != nil && p.gpu.MIG != nil {
			return fmt.Sprintf("%s: the GPU has no instance for set %q; it offers %s", path, w.Set, offered(m.profiles))
		}
	}
	return fmt.Sprintf("%s: %q is not one of the policy's MIG sets; name one of them: %s", path, w.Set, m.setNames(parts))
}

// refuseCounts says why a layout's counts cannot be placed and what can.
func (m *migModel) refuseCounts(counts []int, want []api.SetCount, rule int, parts []part) string {
	compute, memory := 0, 0
	for i, n := range counts {
		compute += n * m.options[i].compute()
		memory += n * m.options[i].memory()
	}
	var asked []string
	for _, w := range want {
		asked = append(asked, fmt.Sprintf("%d × %s", w.Count, w.Set))
	}
	return fmt.Sprintf("spec.gpus[%d].layout: %s needs %d compute and %d memory slices, the GPU has %d and %d (and at most %s); what fits of it: %s",
		rule, strings.Join(asked, " + "), compute, memory, m.board.compute, m.board.memory, m.limits(parts), m.whatFits(counts, parts))
}

// whatFits is the fullest part of the asked counts that can be placed.
func (m *migModel) whatFits(counts []int, parts []part) string {
	capped := make([]migOption, len(m.options))
	for i, o := range m.options {
		o.most = max(counts[i], 0)
		capped[i] = o
	}
	best, _ := bestMixture(capped, m.board)
	return m.describe(best.counts, parts)
}

// describe prints counts as "4 × small + 1 × big".
func (m *migModel) describe(counts []int, parts []part) string {
	var list []string
	for i, n := range counts {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d × %s", n, parts[m.options[i].part].name))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, " + ")
}

// limits prints how many of each set one GPU can hold alone.
func (m *migModel) limits(parts []part) string {
	var list []string
	for _, o := range m.options {
		list = append(list, fmt.Sprintf("%d × %s", o.profile.MaxCount, parts[o.part].name))
	}
	return strings.Join(list, ", ")
}

func (m *migModel) setNames(parts []part) string {
	var list []string
	for _, o := range m.options {
		list = append(list, parts[o.part].name)
	}
	if len(list) == 0 {
		return "none fits this GPU"
	}
	return strings.Join(list, ", ")
}
