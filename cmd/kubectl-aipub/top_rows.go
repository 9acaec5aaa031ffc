// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"aipub.io/aipub/sharer"
)

// noticeable is the least percent of a GPU's time that counts as using it; less
// is what a process spends on asking the driver.
const noticeable = 0.5

// containerShares compares two reports of a node. A node whose before has no
// boot ID, or another one, has not been seen yet: its times are not known.
func containerShares(before, after sharer.Report) []containerShare {
	apart := after.At.Sub(before.At)
	known := before.BootID != "" && before.BootID == after.BootID && apart > 0
	old := map[sharer.TenantID]sharer.TenantReport{}
	for _, t := range before.Tenants {
		old[t.ID] = t
	}
	var all []containerShare
	for _, t := range after.Tenants {
		c := containerShare{
			Node: after.Node, GPUs: slices.Sorted(slices.Values(t.GPUs)), Namespace: t.Namespace, Pod: t.Pod, Container: t.Container,
			Set: t.Set, Slices: t.Slices, Share: t.Percent, Processes: t.Processes,
			MemoryBytes: t.MemoryBytes, MemoryLimitBytes: t.MemoryLimitBytes, Detail: detailOf(t), Findings: t.Findings,
		}
		if known {
			r := sharer.RatesBetween(old[t.ID], t, apart)
			c.Time = timeOf(r, t.Percent).rounded()
			c.Detail.LaunchesPerSecond = perSecond(old[t.ID].Launches, t.Launches, apart)
		}
		c.State, c.PastLimiter = stateOf(t, c.Time), pastLimiter(t.Findings)
		all = append(all, c)
	}
	return all
}

// timeOf adds to the rates of a container what its guarantee left unused.
func timeOf(r sharer.Rates, share int) *used {
	own := r.Used - r.Borrowed
	return &used{
		Used: r.Used, Lent: r.Lent, Borrowed: r.Borrowed, Waiting: r.Waiting,
		Unused: max(0, float64(share)-own-r.Lent),
	}
}

// rounded is the same in hundredths, which is more than can be measured.
func (u *used) rounded() *used {
	if u == nil {
		return nil
	}
	round := func(v float64) float64 { return math.Round(v*100) / 100 }
	return &used{
		Used: round(u.Used), Lent: round(u.Lent), Borrowed: round(u.Borrowed),
		Unused: round(u.Unused), Waiting: round(u.Waiting),
	}
}

// perSecond is the rate of a counter, which starts at zero with its agent.
func perSecond(from, to uint64, apart time.Duration) float64 {
	if to < from {
		from = 0
	}
	return float64(to-from) / apart.Seconds()
}

// stateOf is one word for what a container does: what it is at this moment,
// and for who is at rest at this moment what it was since the last report. Who is past
// the limiter does what cannot be told; the word is what was found.
func stateOf(t sharer.TenantReport, time *used) string {
	if time == nil {
		time = &used{}
	}
	reason, grave := worst(t.Findings)
	switch {
	case grave || (t.Processes == 0 && reason != ""):
		return reason
	case t.Processes == 0:
		return stateEmpty
	case t.Wants && !t.HasLease:
		return stateWaiting
	case t.HasBorrowed || time.Borrowed >= noticeable:
		return stateBorrowing
	case t.HasLease || time.Used >= noticeable:
		return stateRunning
	case time.Lent >= noticeable:
		return stateLending
	}
	return stateIdle
}

func detailOf(t sharer.TenantReport) *shareDetail {
	d := &shareDetail{
		MaxPercent: t.MaxPercent, Lends: t.Lends, Borrows: t.Borrows, Leases: t.Leases, MemoryRefused: t.MemoryRefused,
		LongestMillis: millis(t.Longest), DebtMillis: millis(t.Debt),
		LastReclaimMillis: millis(t.LastReclaim), LongestReclaimMillis: millis(t.LongestReclaim),
	}
	for _, n := range t.Reclaims {
		d.Reclaims += n
	}
	if d.Reclaims > 0 {
		d.ReclaimP99Millis = millis(min(reclaimP99(t.Reclaims, d.Reclaims), t.LongestReclaim))
	}
	return d
}

// reclaimP99 is the bound of the first bucket with which 99 of 100 are counted.
func reclaimP99(counts []uint64, total uint64) time.Duration {
	sum := uint64(0)
	for i, bound := range sharer.ReclaimBounds {
		if i < len(counts) {
			sum += counts[i]
		}
		if 100*sum >= 99*total {
			return bound
		}
	}
	return math.MaxInt64
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// gpuShares sums containers up by GPU, ordered by node and GPU.
func gpuShares(all []containerShare) []gpuShare {
	type key struct {
		node string
		gpu  int
	}
	sums := map[key]*gpuShare{}
	for _, c := range all {
		for _, i := range c.GPUs {
			k := key{c.Node, i}
			if sums[k] == nil {
				sums[k] = &gpuShare{Node: c.Node, GPU: i, Time: &used{}}
			}
			sums[k].add(c)
		}
	}
	out := make([]gpuShare, 0, len(sums))
	for _, g := range sums {
		g.Time = g.Time.rounded()
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b gpuShare) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.GPU, b.GPU))
	})
	return out
}

func (g *gpuShare) add(c containerShare) {
	parts := float64(len(c.GPUs))
	g.Containers++
	g.PastLimiter = g.PastLimiter || c.PastLimiter
	g.Share += float64(c.Share) / parts
	g.MemoryBytes += c.MemoryBytes / uint64(len(c.GPUs))
	g.MemoryLimitBytes += c.MemoryLimitBytes / uint64(len(c.GPUs))
	if c.Time == nil || g.Time == nil {
		g.Time = nil
		return
	}
	g.Time.Used += c.Time.Used / parts
	g.Time.Lent += c.Time.Lent / parts
	g.Time.Borrowed += c.Time.Borrowed / parts
	g.Time.Unused += c.Time.Unused / parts
	g.Time.Waiting = max(g.Time.Waiting, c.Time.Waiting)
}

// topOrders are the orders that --sort knows: most first, except by name.
var topOrders = []string{"name", "used", "borrowed", "waiting"}

// sortShares orders containers, equal ones by node, GPU and name. Whose time is
// not known comes last.
func sortShares(all []containerShare, order string) {
	weight := func(c containerShare) float64 {
		switch {
		case order == "name":
			return 0
		case c.Time == nil:
			return -1
		case order == "borrowed":
			return c.Time.Borrowed
		case order == "waiting":
			return c.Time.Waiting
		}
		return c.Time.Used
	}
	slices.SortStableFunc(all, func(a, b containerShare) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.Node, b.Node), slices.Compare(a.GPUs, b.GPUs),
			strings.Compare(a.name(), b.name()), slices.Compare(a.Slices, b.Slices))
	})
}

// name is the container as namespace/pod/container; "" before the kubelet has
// said which it is.
func (c containerShare) name() string {
	if c.Pod == "" {
		return ""
	}
	return strings.TrimSuffix(strings.Join([]string{c.Namespace, c.Pod, c.Container}, "/"), "/")
}
