// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/attach"
)

const mib = 1 << 20

var (
	podA = attach.Container{ID: "aaa", PodUID: "uid-a"}
	podB = attach.Container{ID: "bbb", PodUID: "uid-b"}
	pid1 = attach.ProcessID{PID: 100, Start: 5}
)

// sample has slice a of podA on GPU-1, slice b of podB on GPU-2, and a process of
// podA on GPU-1 that is attached to a.
func sample() attach.Sample {
	return attach.Sample{
		OnGPU: []attach.OnGPU{{Process: pid1, GPU: "GPU-1", Container: podA, BusyPercent: -1}},
		Slices: []attach.Slice{
			{ID: "a", GPU: "GPU-1", Holder: attach.Container{PodUID: podA.PodUID}, MemoryBytes: 1000 * mib},
			{ID: "b", GPU: "GPU-2", Holder: podB, MemoryBytes: 1000 * mib},
		},
		Attached: []attach.Attached{{Process: pid1, Slice: "a", Slot: 3, BuildID: "good"}},
	}
}

// watch observes the same sample every 500 ms and returns the reports.
func watch(a *attach.Auditor, s attach.Sample, samples int) (reports []attach.Report) {
	for range samples {
		reports = append(reports, a.Observe(s))
		s.At = s.At.Add(500 * time.Millisecond)
	}
	return reports
}

func TestFindings(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*attach.Sample)
		want   attach.Reason // "": nothing
		slice  gpu.SliceID
	}{
		"attached":                 {func(*attach.Sample) {}, "", ""},
		"not attached":             {func(s *attach.Sample) { s.Attached = nil }, attach.NotAttached, "a"},
		"another process attached": {func(s *attach.Sample) { s.Attached[0].Process.Start = 6 }, attach.NotAttached, "a"},
		"attached to the slice of another GPU": {func(s *attach.Sample) {
			s.Slices = append(s.Slices, attach.Slice{ID: "a2", GPU: "GPU-2", Holder: podA})
			s.Attached[0].Slice = "a2"
		}, attach.NotAttached, "a"},
		"on a GPU where it holds nothing": {func(s *attach.Sample) { s.OnGPU[0].GPU = "GPU-2" }, attach.WrongSlice, "a"},
		"attached to a slice of another": {func(s *attach.Sample) {
			s.OnGPU[0].GPU, s.Attached[0].Slice = "GPU-2", "b"
		}, attach.WrongSlice, "b"},
		"no container":                   {func(s *attach.Sample) { s.OnGPU[0].Container, s.Attached = attach.Container{}, nil }, attach.Foreign, ""},
		"a container without slices":     {func(s *attach.Sample) { s.OnGPU[0].Container.PodUID, s.Attached = "uid-c", nil }, attach.Foreign, ""},
		"the holder is not known yet":    {func(s *attach.Sample) { s.Slices[0].Holder = attach.Container{} }, "", ""},
		"the process's cgroup is hidden": {func(s *attach.Sample) { s.OnGPU[0].Container = attach.Container{} }, "", ""},
		"another build":                  {func(s *attach.Sample) { s.Attached[0].BuildID = "old" }, attach.StaleBuild, "a"},
		"device-side launches":           {func(s *attach.Sample) { s.Attached[0].Ungated = true }, attach.Ungated, "a"},
		"more memory than the limit":     {func(s *attach.Sample) { s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 1001*mib, 1000*mib }, attach.OverMemory, "a"},
		"memory that nobody knows of":    {func(s *attach.Sample) { s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 900*mib, 300*mib }, attach.UnaccountedMemory, "a"},
		"memory that a context explains": {func(s *attach.Sample) { s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 900*mib, 500*mib }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample()
			tc.change(&s)
			reports := watch(attach.New(attach.Config{Builds: []string{"good"}}), s, 4)
			for i, r := range reports[:2] {
				if len(r.Findings) != 0 {
					t.Errorf("sample %d: %+v within the grace", i, r.Findings)
				}
			}
			// It showed up at most 500 ms before the first sample; the third is 1 s after.
			got := reports[2].Findings
			if tc.want == "" {
				if len(got) != 0 {
					t.Fatalf("found %+v, want nothing", got)
				}
				return
			}
			if len(got) != 1 || got[0].Reason != tc.want || got[0].Slice != tc.slice || got[0].Since != 0 || got[0].Message == "" {
				t.Fatalf("found %+v, want %s of slice %q", got, tc.want, tc.slice)
			}
		})
	}
}

// A process that attaches late, but within the grace, is no finding; nor does its
// past count when it is lost again.
func TestGrace(t *testing.T) {
	a := attach.New(attach.Config{})
	s := sample()
	attached := s.Attached
	for at, want := range []int{0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 0} {
		s.At = sharer.Instant(time.Duration(at) * 500 * time.Millisecond)
		s.Attached = nil
		if at == 1 || at == 6 {
			s.Attached = attached
		}
		if got := a.Observe(s).Findings; len(got) != want {
			t.Errorf("sample %d: %+v, want %d findings", at, got, want)
		}
	}
}

func TestMemoryOfAllProcessesCounts(t *testing.T) {
	s := sample()
	s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 600*mib, 500*mib
	// Not attached, of the same container.
	s.OnGPU = append(s.OnGPU, attach.OnGPU{Process: attach.ProcessID{PID: 7}, GPU: "GPU-1", Container: podA, UsedBytes: 500 * mib, BusyPercent: -1})
	got := watch(attach.New(attach.Config{}), s, 3)[2].Findings
	if len(got) != 2 || got[0].Reason != attach.NotAttached || got[1].Reason != attach.OverMemory {
		t.Fatalf("found %+v, want NotAttached and OverMemory", got)
	}
	if !strings.Contains(got[1].Message, "1100 MiB") || got[1].Process != s.OnGPU[0].Process {
		t.Errorf("message is %q, process %+v; want the sum, and the process that uses most", got[1].Message, got[1].Process)
	}
}

func TestOverheadIsCorrected(t *testing.T) {
	for name, tc := range map[string]struct {
		used, committed, pending, overhead, managed uint64
		want                                        int64 // MiB, -1: no correction
	}{
		"context not counted":      {used: 700, committed: 300, want: 400},
		"context counted":          {used: 700, committed: 300, overhead: 400, want: -1},
		"context overestimated":    {used: 700, committed: 300, overhead: 500, want: 400},
		"rounding":                 {used: 700, committed: 300, overhead: 399, want: -1},
		"an allocation under way":  {used: 700, committed: 300, pending: 10, want: -1},
		"the driver does not tell": {used: 0, committed: 300, overhead: 9, want: -1},
		"managed memory elsewhere": {used: 300, committed: 900, managed: 800, overhead: 100, want: -1},
		"less than committed":      {used: 300, committed: 310, overhead: 100, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := sample()
			s.OnGPU[0].UsedBytes = tc.used * mib
			at := &s.Attached[0]
			at.CommittedBytes, at.PendingBytes, at.OverheadBytes, at.ManagedBytes = tc.committed*mib, tc.pending*mib, tc.overhead*mib, tc.managed*mib
			reports := watch(attach.New(attach.Config{}), s, 2)
			if len(reports[0].Overheads) != 0 {
				t.Errorf("corrected by one sample: %+v", reports[0].Overheads)
			}
			got := reports[1].Overheads
			if tc.want < 0 {
				if len(got) != 0 {
					t.Fatalf("corrected: %+v", got)
				}
				return
			}
			if want := (attach.Overhead{Slice: "a", Slot: 3, Bytes: uint64(tc.want) * mib}); len(got) != 1 || got[0] != want {
				t.Fatalf("corrections are %+v, want %+v", got, want)
			}
		})
	}
}

// An allocation between the driver's answer and the slot's reading is no drift.
func TestMovingLedgerIsNotCorrected(t *testing.T) {
	a, s := attach.New(attach.Config{}), sample()
	for i := range uint64(10) {
		s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 700*mib+10*i*mib, 300*mib+10*i*mib
		if r := a.Observe(s); len(r.Overheads) != 0 {
			t.Fatalf("corrected a ledger that moves: %+v", r.Overheads)
		}
	}
}

func TestContextBytesAreLearned(t *testing.T) {
	a := attach.New(attach.Config{})
	// Some have two contexts, or deny what they have allocated.
	for i, used := range []uint64{60000, 401, 800, 60000, 60000, 402, 60000, 60000} {
		s := sample()
		s.OnGPU[0].UsedBytes = used * mib
		s.OnGPU[0].Process.PID += i
		s.Attached[0].Process = s.OnGPU[0].Process
		watch(a, s, 2)
	}
	s := sample()
	s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 900*mib, 500*mib
	if got := a.Observe(s).ContextBytes["GPU-1"]; got != 402*mib {
		t.Errorf("a context costs %d MiB, want 401, rounded up", got/mib)
	}
	liar := attach.New(attach.Config{})
	s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = 60000*mib, 0
	if got, known := watch(liar, s, 3)[2].ContextBytes["GPU-1"]; known {
		t.Errorf("what one process denies makes a context cost %d MiB for all", got/mib)
	}
}

func TestUnaccountedTime(t *testing.T) {
	for name, tc := range map[string]struct {
		percent int
		says    time.Duration // a second
		want    bool
	}{
		"honest":           {50, 500 * time.Millisecond, false},
		"coarse":           {50, 400 * time.Millisecond, false},
		"silent":           {50, 0, true},
		"half":             {100, 500 * time.Millisecond, true},
		"boastful":         {10, time.Second, false},
		"the driver lacks": {-1, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := attach.New(attach.Config{}), sample()
			found := false
			for range 30 {
				s.OnGPU[0].BusyPercent = tc.percent
				for _, f := range a.Observe(s).Findings {
					found = found || f.Reason == attach.UnaccountedTime
				}
				s.At = s.At.Add(500 * time.Millisecond)
				s.Attached[0].Busy += tc.says / 2
			}
			if found != tc.want {
				t.Errorf("found is %v, want %v", found, tc.want)
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	found := attach.Finding{Reason: attach.NotAttached, Process: pid1, Container: podA}
	late := sharer.Instant(10 * time.Second)
	for name, tc := range map[string]struct {
		policy attach.Policy
		change func(*attach.Finding)
		now    sharer.Instant
		want   attach.Policy
	}{
		"warn":                   {attach.Warn, nil, late, attach.Warn},
		"evict":                  {attach.Evict, nil, late, attach.Evict},
		"kill":                   {attach.Kill, nil, late, attach.Kill},
		"too early":              {attach.Kill, nil, sharer.Instant(4 * time.Second), attach.Warn},
		"time, and not sure":     {attach.Kill, func(f *attach.Finding) { f.Reason, f.Unsure = attach.UnaccountedTime, true }, late, attach.Warn},
		"time":                   {attach.Kill, func(f *attach.Finding) { f.Reason = attach.UnaccountedTime }, late, attach.Kill},
		"memory, and not sure":   {attach.Kill, func(f *attach.Finding) { f.Reason, f.Unsure = attach.UnaccountedMemory, true }, late, attach.Warn},
		"memory":                 {attach.Evict, func(f *attach.Finding) { f.Reason = attach.UnaccountedMemory }, late, attach.Evict},
		"harms nobody":           {attach.Kill, func(f *attach.Finding) { f.Reason = attach.DamagedPage }, late, attach.Warn},
		"nobody's":               {attach.Kill, func(f *attach.Finding) { f.Reason = attach.Foreign }, late, attach.Warn},
		"nothing to evict":       {attach.Evict, func(f *attach.Finding) { f.Container = attach.Container{} }, late, attach.Warn},
		"unknown is the mildest": {"shoot", nil, late, attach.Warn},
	} {
		f := found
		if tc.change != nil {
			tc.change(&f)
		}
		if got := tc.policy.Decide(f, tc.now, 5*time.Second); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	if _, err := attach.ParsePolicy("shoot"); err == nil {
		t.Error("a policy that does not exist was parsed")
	}
	if p, err := attach.ParsePolicy("evict"); err != nil || p != attach.Evict {
		t.Errorf("parsed %q, %v", p, err)
	}
}
