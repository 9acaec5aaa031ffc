// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// noRule is the rule index of a GPU that no rule matches: it stays Whole.
const noRule = -1

// ModeOf is the mode that the policy gives to a GPU, and the index of the rule
// in spec.gpus that says so; -1 when none matches and the GPU stays Whole.
func ModeOf(spec api.PartitionPolicySpec, g gpu.GPU) (mode gpu.Mode, rule int) {
	for i, r := range spec.GPUs {
		if ruleMatches(r, g) {
			return gpu.Mode(r.Mode), i
		}
	}
	return gpu.ModeWhole, noRule
}

func ruleMatches(r api.GPURule, g gpu.GPU) bool {
	if len(r.Indices) > 0 && !slices.Contains(r.Indices, int32(g.Index)) {
		return false
	}
	if len(r.UUIDs) > 0 && !slices.Contains(r.UUIDs, g.UUID) {
		return false
	}
	sameModel := func(m string) bool { return strings.EqualFold(m, g.Model) }
	return len(r.Models) == 0 || slices.ContainsFunc(r.Models, sameModel)
}
