// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// whyNoMode says why no GPU of a node is in a mode: no rule gives it, a rule
// that does matches nothing there, or other rules come first.
func whyNoMode(spec api.PartitionPolicySpec, mode gpu.Mode, node Node) string {
	for i, r := range spec.GPUs {
		matches := func(g gpu.GPU) bool { return ruleMatches(r, g) }
		if gpu.Mode(r.Mode) == mode && len(node.GPUs) > 0 && !slices.ContainsFunc(node.GPUs, matches) {
			return fmt.Sprintf("spec.gpus[%d] (%s), which gives mode %s, matches no GPU of node %s, which has %s; correct the rule, or leave the set to other nodes",
				i, ruleText(r), mode, node.Name, present(r, node.GPUs))
		}
	}
	return fmt.Sprintf("no GPU of node %s is in mode %s; give one that mode in spec.gpus, or leave the set to other nodes", node.Name, mode)
}

// present lists what the GPUs of a node are, in the terms of a rule.
func present(r api.GPURule, gpus []gpu.GPU) string {
	var indices, models, uuids []string
	for _, g := range gpus {
		indices = append(indices, strconv.Itoa(g.Index))
		uuids = append(uuids, g.UUID)
		if !slices.Contains(models, g.Model) {
			models = append(models, g.Model)
		}
	}
	var terms []string
	if len(r.Indices) > 0 {
		terms = append(terms, "indices ["+strings.Join(indices, " ")+"]")
	}
	if len(r.Models) > 0 {
		terms = append(terms, fmt.Sprintf("models %q", models))
	}
	if len(r.UUIDs) > 0 {
		terms = append(terms, fmt.Sprintf("uuids %q", uuids))
	}
	return strings.Join(terms, ", ")
}
