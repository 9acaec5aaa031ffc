// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aipub.io/aipub/sharer"
)

func TestTimesBetweenTwoReports(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(before, after *sharer.Report)
		want   *used // of the first container
	}{
		"two seconds apart": {func(_, _ *sharer.Report) {}, &used{Used: 71, Borrowed: 46, Waiting: 1.5}},
		"the agent was restarted, so counters fell": {func(_, after *sharer.Report) {
			after.Tenants[0].Used, after.Tenants[0].Borrowed, after.Tenants[0].Waited = ms(500), 0, 0
		}, &used{Used: 25}},
		"the container has come since": {func(before, after *sharer.Report) {
			before.Tenants = nil
			after.Tenants[0].Used, after.Tenants[0].Borrowed, after.Tenants[0].Waited = ms(200), 0, 0
		}, &used{Used: 10, Unused: 15}},
		"lent counts as made use of": {func(_, after *sharer.Report) {
			after.Tenants[0] = after.Tenants[1]
			after.Tenants[0].ID = "new"
			after.Tenants[0].Used, after.Tenants[0].Lent = 0, ms(800)
		}, &used{Lent: 40, Unused: 10}},
		"never seen before":     {func(before, _ *sharer.Report) { *before = sharer.Report{} }, nil},
		"the node has rebooted": {func(_, after *sharer.Report) { after.BootID = "boot-2" }, nil},
		"no time has passed":    {func(before, after *sharer.Report) { after.At = before.At }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := twoRounds()
			tc.change(&before, &after)
			got := containerShares(before, after)[0].Time
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestStateOf(t *testing.T) {
	found := []sharer.FindingReport{{Reason: "NotAttached"}}
	for name, tc := range map[string]struct {
		t    sharer.TenantReport
		time *used
		want string
	}{
		"no process":                           {sharer.TenantReport{}, nil, stateEmpty},
		"a process past the limiter":           {sharer.TenantReport{Findings: found}, nil, "NotAttached"},
		"one past the limiter and one within":  {sharer.TenantReport{Findings: found, Processes: 1}, nil, "NotAttached"},
		"the worst counts":                     {sharer.TenantReport{Findings: several("DamagedPage", "UnaccountedTime", "OverMemory"), Processes: 1}, nil, "OverMemory"},
		"past the limiter is not lending":      {sharer.TenantReport{Findings: several("StaleBuild", "UnaccountedTime"), Processes: 1}, &used{Lent: 20}, "UnaccountedTime"},
		"found, and nothing grave":             {sharer.TenantReport{Findings: several("StaleBuild"), Processes: 1}, &used{Lent: 20}, stateLending},
		"found, nothing grave, and no process": {sharer.TenantReport{Findings: several("BorrowerEnded")}, nil, "BorrowerEnded"},
		"has the GPU":                          {sharer.TenantReport{Processes: 1, HasLease: true}, nil, stateRunning},
		"has the GPU on others' account":       {sharer.TenantReport{Processes: 1, HasLease: true, HasBorrowed: true}, nil, stateBorrowing},
		"has the GPU and has borrowed":         {sharer.TenantReport{Processes: 1, HasLease: true}, &used{Used: 60, Borrowed: 10}, stateBorrowing},
		"has the GPU and more work":            {sharer.TenantReport{Processes: 1, HasLease: true, Wants: true}, nil, stateRunning},
		"wants it":                             {sharer.TenantReport{Processes: 1, Wants: true}, &used{Used: 20}, stateWaiting},
		"at rest at this moment":               {sharer.TenantReport{Processes: 1}, &used{Used: 20}, stateRunning},
		"idle, and others use its time":        {sharer.TenantReport{Processes: 1}, &used{Used: 0.1, Lent: 20}, stateLending},
		"idle, and nobody uses its time":       {sharer.TenantReport{Processes: 1}, &used{Unused: 25}, stateIdle},
		"no process, but others use its time":  {sharer.TenantReport{}, &used{Lent: 20}, stateEmpty},
		"idle, as far as one report can tell":  {sharer.TenantReport{Processes: 1}, nil, stateIdle},
		"a driver call now and then is no use": {sharer.TenantReport{Processes: 1}, &used{Used: 0.4}, stateIdle},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stateOf(tc.t, tc.time); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func several(reasons ...string) (all []sharer.FindingReport) {
	for _, r := range reasons {
		all = append(all, sharer.FindingReport{Reason: r})
	}
	return all
}

func TestTimesOfWhoIsPastTheLimiterAreDoubtful(t *testing.T) {
	for reason, want := range map[string]bool{"NotAttached": true, "WrongSlice": true, "UnaccountedTime": true, "OverMemory": false, "DamagedPage": false} {
		before, after := twoRounds()
		after.Tenants = after.Tenants[1:2]
		after.Tenants[0].Findings = several("StaleBuild", reason)
		all := containerShares(before, after)
		gpus := gpuShares(all)
		if all[0].PastLimiter != want || gpus[0].PastLimiter != want {
			t.Errorf("%s: the container's times are doubtful: %v, the GPU's: %v, want %v", reason, all[0].PastLimiter, gpus[0].PastLimiter, want)
		}
	}
	if got := timeCells(&used{Used: 1, Lent: 46}, true); got[0] != "1%?" || got[1] != "46%?" || got[4] != "0%" {
		t.Errorf("doubtful times are %v", got)
	}
}

func TestAGPUSumsUpItsContainers(t *testing.T) {
	got := gpuShares(containerShares(twoRounds()))
	want := []gpuShare{
		// Half of what serving has counts here, half on GPU 1.
		{Node: "gpu-01", GPU: 0, Containers: 3, Share: 100, PastLimiter: true, MemoryBytes: 34 << 30, MemoryLimitBytes: 140 << 30,
			Time: &used{Used: 91.3, Lent: 46, Borrowed: 46, Unused: 3.7 + 5, Waiting: 25}},
		{Node: "gpu-01", GPU: 1, Containers: 1, Share: 25, PastLimiter: true, MemoryBytes: 5 << 30, MemoryLimitBytes: 35 << 30,
			Time: &used{Used: 20, Unused: 5, Waiting: 25}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if first := gpuShares(containerShares(sharer.Report{}, sharer.Report{Node: "a", Tenants: []sharer.TenantReport{trainer()}})); first[0].Time != nil {
		t.Errorf("a GPU whose containers' times are not known has %+v", first[0].Time)
	}
}

func TestReclaimP99(t *testing.T) {
	for name, tc := range map[string]struct {
		counts []uint64
		want   float64
		total  uint64
	}{
		"none":                        {nil, 0, 0},
		"99 of 100 within 2ms":        {[]uint64{0, 99, 1}, 2, 100},
		"98 of 100 within 2ms":        {[]uint64{0, 98, 2}, 5, 100},
		"longer than all bounds":      {[]uint64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 1700, 2},
		"more buckets than are known": {append(make([]uint64, 20), 1), 1700, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := detailOf(sharer.TenantReport{Reclaims: tc.counts, LongestReclaim: ms(1700)})
			if d.ReclaimP99Millis != tc.want || d.Reclaims != tc.total {
				t.Errorf("got %vms of %d, want %vms of %d", d.ReclaimP99Millis, d.Reclaims, tc.want, tc.total)
			}
		})
	}
}

func TestSortShares(t *testing.T) {
	all := func() []containerShare {
		return []containerShare{
			{Node: "b", Pod: "unknown"},
			{Node: "b", Pod: "much", Time: &used{Used: 80, Borrowed: 1, Waiting: 2}},
			{Node: "a", GPUs: []int{1}, Pod: "some", Time: &used{Used: 50, Borrowed: 30, Waiting: 1}},
			{Node: "a", GPUs: []int{0}, Pod: "none", Time: &used{Waiting: 90}},
		}
	}
	for order, want := range map[string][]string{
		"name":     {"none", "some", "much", "unknown"},
		"used":     {"much", "some", "none", "unknown"},
		"borrowed": {"some", "much", "none", "unknown"},
		"waiting":  {"none", "much", "some", "unknown"},
	} {
		sorted := all()
		sortShares(sorted, order)
		var got []string
		for _, c := range sorted {
			got = append(got, c.Pod)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("--sort %s (-want +got)\n%s", order, diff)
		}
	}
}

func TestDurationsAndPercentsAreShort(t *testing.T) {
	for ms, want := range map[float64]string{0: "", 0.04: "0.04ms", 3.25: "3.2ms", 31.5: "32ms", 1200: "1.2s"} {
		if got := millisWords(ms); got != want {
			t.Errorf("%v ms is %q, want %q", ms, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0%", 0.3: "<1%", 0.5: "1%", 71.2: "71%", 0.01: "0%"} {
		if got := percent(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
