// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
)

// unlimitedRounds is how many rounds what NodePartitions say of nodes without the
// limiter is kept: it seldom changes, and a cluster may have many nodes.
const unlimitedRounds = 15

// unlimited lists the containers with block slices on nodes where the limiter is
// off: their agents know who holds a slice, and not what it does. empty are the
// nodes whose report has nobody. Who may not read NodePartitions sees nothing of
// them, as of everything else in there.
func (r *shareReader) unlimited(ctx context.Context, empty []string) (all []containerShare, notes []string) {
	if len(empty) == 0 {
		return nil, nil
	}
	if r.round%unlimitedRounds == 0 {
		var list api.NodePartitionList
		if err := r.from.List(ctx, &list); err != nil {
			return nil, nil
		}
		r.partitions = list.Items
	}
	r.round++
	for _, np := range r.partitions {
		if !slices.Contains(empty, np.Name) || limits(np) {
			continue
		}
		held := sharesOf(np)
		for i := range held {
			held[i].State, held[i].Time = stateUnlimited, nil
		}
		if len(held) > 0 {
			all = append(all, held...)
			notes = append(notes, fmt.Sprintf("node %s: the limiter is off there (node.limiter.enabled=false), so that nothing keeps containers to their shares, "+
				"and what they use is not known; once it is on, it holds for containers that start after that", np.Name))
		}
	}
	return all, notes
}

// limits reports whether a node's agent says that the limiter is there.
func limits(np api.NodePartition) bool {
	return slices.ContainsFunc(np.Status.GPUs, func(g api.NodeGPU) bool { return slices.Contains(g.Fences, api.FenceLimiter) })
}
