// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"slices"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/sharer"
)

// partitionShares reads what the agents wrote into NodePartitions, of the nodes
// named or of all.
func partitionShares(ctx context.Context, from lister, nodes []string) ([]containerShare, error) {
	var list api.NodePartitionList
	if err := from.List(ctx, &list); err != nil {
		return nil, err
	}
	picked, err := byName(list.Items, nodes, func(np api.NodePartition) string { return np.Name }, func(name string) error {
		known := make([]string, len(list.Items))
		for i, np := range list.Items {
			known[i] = np.Name
		}
		return noAgent(name, known)
	})
	if err != nil {
		return nil, err
	}
	var all []containerShare
	for _, np := range picked {
		all = append(all, sharesOf(np)...)
	}
	return all, nil
}

// sharesOf joins the slices that one container holds. The agent writes what the
// container used to each of them, so that counts once.
func sharesOf(np api.NodePartition) []containerShare {
	index := gpuIndices(np.Status)
	var order []api.Holder
	held := map[api.Holder]*containerShare{}
	shares := map[api.Holder]*api.SliceShare{}
	for _, s := range np.Status.Slices {
		if s.BlockPercent == 0 || s.Holder == nil {
			continue
		}
		h := *s.Holder
		c := held[h]
		if c == nil {
			c = &containerShare{Node: np.Name, Namespace: h.Namespace, Pod: h.Pod, Container: h.Container, Set: s.Set}
			held[h], order = c, append(order, h)
		}
		c.Slices = append(c.Slices, s.ID)
		c.Share += int(s.BlockPercent)
		for _, u := range s.GPUs {
			if i, ok := index[u]; ok && !slices.Contains(c.GPUs, i) {
				c.GPUs = append(c.GPUs, i)
			}
		}
		if s.BlockMemory != nil {
			c.MemoryLimitBytes += uint64(max(0, s.BlockMemory.Value()))
		}
		if s.Share != nil {
			shares[h] = cmp.Or(shares[h], s.Share)
			c.Findings = append(c.Findings, findingsOf(s.Share.Findings)...)
		}
	}
	var all []containerShare
	for _, h := range order {
		c := held[h]
		slices.Sort(c.GPUs)
		c.average(shares[h])
		all = append(all, *c)
	}
	return all
}

// average fills in what an agent wrote; nil means that it wrote nothing.
func (c *containerShare) average(s *api.SliceShare) {
	if s == nil {
		c.State = "unknown"
		return
	}
	c.Processes, c.MemoryBytes = int(s.Processes), uint64(max(0, s.Memory.Value()))
	c.Time = timeOf(sharer.Rates{
		Used: float64(s.UsedPercent), Lent: float64(s.LentPercent),
		Borrowed: float64(s.BorrowedPercent), Waiting: float64(s.WaitingPercent),
	}, c.Share)
	c.PastLimiter = pastLimiter(c.Findings)
	c.State = stateOf(sharer.TenantReport{Processes: c.Processes, Findings: c.Findings}, c.Time)
}

func findingsOf(all []api.Finding) []sharer.FindingReport {
	var out []sharer.FindingReport
	for _, f := range all {
		out = append(out, sharer.FindingReport{PID: int(f.PID), Reason: f.Reason, Message: f.Message})
	}
	return out
}
