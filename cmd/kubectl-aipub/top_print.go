// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeShares prints the GPUs, then the containers on them.
func writeShares(s *shares, out *output, b *bytes.Buffer) error {
	if len(s.Containers) == 0 {
		return nil
	}
	if err := out.rows(gpuShareTable(s.GPUs), b); err != nil {
		return err
	}
	return out.tables(b, containerShareTable(s.Containers))
}

func gpuShareTable(all []gpuShare) *metav1.Table {
	t := columns("Node", "GPU", "Containers", "Share", "Used", "Lent", "Borrowed", "Unused", "Memory")
	for _, g := range all {
		cells := []string{g.Node, strconv.Itoa(g.GPU), strconv.Itoa(g.Containers), percent(g.Share)}
		cells = append(cells, timeCells(g.Time, g.PastLimiter)[:4]...)
		addRow(t, append(cells, memoryOfLimit(g.MemoryBytes, g.MemoryLimitBytes))...)
	}
	return t
}

func containerShareTable(all []containerShare) *metav1.Table {
	t := columns("Node", "GPU", "Set", "Share", "Used", "Lent", "Borrowed", "Unused", "Waiting", "Memory", "Proc", "Now", "Reclaim",
		"+P99", "+Worst", "+Longest", "+Launches/s", "+Leases", "+Debt", "+Max", "+Sharing", "+Refused", "+Slices", "Container")
	for _, c := range all {
		cells := []string{c.Node, ranges(c.GPUs), c.Set, percent(float64(c.Share))}
		cells = append(cells, timeCells(c.Time, c.PastLimiter)...)
		cells = append(cells, memoryOfLimit(c.MemoryBytes, c.MemoryLimitBytes), strconv.Itoa(c.Processes), c.State)
		cells = append(cells, detailCells(c.Detail, c.Time != nil)...)
		addRow(t, append(cells, strconv.Itoa(len(c.Slices)), cmp.Or(c.name(), "a container that is starting"))...)
	}
	return t
}

// timeCells are used, lent, borrowed, unused and waiting. All but the last are
// doubtful where work is past the limiter.
func timeCells(t *used, doubtful bool) []string {
	if t == nil {
		return make([]string, 5)
	}
	mark := ""
	if doubtful {
		mark = "?"
	}
	return []string{percent(t.Used) + mark, percent(t.Lent) + mark, percent(t.Borrowed) + mark, percent(t.Unused) + mark, percent(t.Waiting)}
}

// detailCells are the last reclaim and what is for wide tables only. Without
// rates, launches per second are not known.
func detailCells(d *shareDetail, rates bool) []string {
	if d == nil {
		return make([]string, 10)
	}
	p99, launches := "", ""
	if d.Reclaims > 0 {
		p99 = "<=" + millisWords(d.ReclaimP99Millis)
	}
	if rates {
		launches = strconv.FormatFloat(d.LaunchesPerSecond, 'f', 0, 64)
	}
	return []string{
		millisWords(d.LastReclaimMillis), p99, millisWords(d.LongestReclaimMillis), millisWords(d.LongestMillis), launches,
		strconv.FormatUint(d.Leases, 10), millisWords(d.DebtMillis), percent(float64(d.MaxPercent)), loanWords(d.Lends, d.Borrows),
		strconv.FormatUint(d.MemoryRefused, 10),
	}
}

func loanWords(lends, borrows bool) string {
	switch {
	case lends && borrows:
		return "lend,borrow"
	case lends:
		return "lend"
	case borrows:
		return "borrow"
	}
	return "none"
}

// percent is a whole number; what is there but rounds to nothing is "<1%".
func percent(v float64) string {
	if v > 0.05 && v < noticeable {
		return "<1%"
	}
	return strconv.FormatFloat(math.Round(v), 'f', 0, 64) + "%"
}

// millisWords is a duration with decimals where they say more; nothing for 0.
func millisWords(ms float64) string {
	switch {
	case ms <= 0:
		return ""
	case ms < 1:
		return strconv.FormatFloat(ms, 'f', 2, 64) + "ms"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 1, 64) + "ms"
	case ms < 1000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + "ms"
	}
	return strconv.FormatFloat(ms/1000, 'f', 1, 64) + "s"
}

// memoryOfLimit is used/limit; a limit of 0 is none.
func memoryOfLimit(bytes, limit uint64) string {
	if limit == 0 {
		return memory(int64(bytes))
	}
	return memory(int64(bytes)) + "/" + memory(int64(limit))
}

// findingNotes say which process is past the limiter, and how to end it.
func findingNotes(all []containerShare) []string {
	var notes []string
	for _, c := range all {
		for _, f := range c.Findings {
			s := fmt.Sprintf("node %s: %s: %s: %s", c.Node, cmp.Or(c.name(), "a container that is starting"), f.Reason, f.Message)
			if c.Pod != "" {
				s += fmt.Sprintf("; to end it: kubectl -n %s delete pod %s", c.Namespace, c.Pod)
			}
			notes = append(notes, s)
		}
	}
	return notes
}
