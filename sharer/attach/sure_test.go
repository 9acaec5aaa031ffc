// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer/attach"
)

// treated is when a policy of Kill would first kill for the reason while change
// makes each sample, 500 ms apart, for two minutes; 0: never.
func treated(reason attach.Reason, change func(round int, s *attach.Sample)) time.Duration {
	a, s := attach.New(attach.Config{}), sample()
	for i := range 240 {
		change(i, &s)
		for _, f := range a.Observe(s).Findings {
			if f.Reason == reason && attach.Kill.Decide(f, s.At, 5*time.Second) == attach.Kill {
				return time.Duration(s.At)
			}
		}
		s.At = s.At.Add(500 * time.Millisecond)
	}
	return 0
}

func TestTimeIsTreatedOnlyWhenNoHonestProgramLooksSo(t *testing.T) {
	const look = 500 * time.Millisecond
	thief := func(_ int, s *attach.Sample) { s.OnGPU[0].BusyPercent = 50 }
	also := func(more func(i int, s *attach.Sample)) func(int, *attach.Sample) {
		return func(i int, s *attach.Sample) { thief(i, s); more(i, s) }
	}
	for name, tc := range map[string]struct {
		change func(i int, s *attach.Sample)
		want   time.Duration
	}{
		"says nothing":  {thief, 15 * time.Second},
		"says a little": {also(func(_ int, s *attach.Sample) { s.Attached[0].Busy += look / 10 }), 15 * time.Second},
		"the driver answers every other time": {also(func(i int, s *attach.Sample) {
			if s.OnGPU[0].BusyPercent = 100; i%2 == 1 {
				s.OnGPU[0].BusyPercent = -1
			}
		}), 15 * time.Second},
		"damages what it says": {also(func(_ int, s *attach.Sample) {
			s.Slices[0].Damage, s.Attached[0].InFlight, s.Attached[0].Ungated = 1, true, true
			s.Attached[0].Busy += look
		}), 15 * time.Second},
		"for one window": {func(i int, s *attach.Sample) {
			if s.OnGPU[0].BusyPercent = 0; i < 10 {
				s.OnGPU[0].BusyPercent = 100
			}
		}, 0},
		"every other window": {func(i int, s *attach.Sample) {
			if s.OnGPU[0].BusyPercent = 0; i/10%2 == 0 {
				s.OnGPU[0].BusyPercent = 100
			}
		}, 0},
		"what measurement may be wrong by": {also(func(_ int, s *attach.Sample) { s.Attached[0].Busy += look * 3 / 10 }), 0},
		"one kernel that takes very long":  {also(func(_ int, s *attach.Sample) { s.Attached[0].InFlight = true }), 0},
		"work of its own now and then":     {also(func(i int, s *attach.Sample) { s.Attached[0].InFlight = i%20 == 10 }), 15 * time.Second},
		"it had the GPU meanwhile":         {also(func(_ int, s *attach.Sample) { s.Slices[0].Leased += look }), 0},
		"launches from the device":         {also(func(_ int, s *attach.Sample) { s.Attached[0].Ungated = true }), 0},
		"MPS":                              {also(func(_ int, s *attach.Sample) { s.OnGPU[0].Overlaps = true }), 0},
		"its counters begin anew": {also(func(i int, s *attach.Sample) {
			if s.Attached[0].Busy += look; i%20 == 0 {
				s.Attached[0].Busy = 0
			}
		}), 0},
		"the agent looks away": {also(func(_ int, s *attach.Sample) { s.At = s.At.Add(4 * time.Second) }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := treated(attach.UnaccountedTime, tc.change); got != tc.want {
				t.Errorf("treated after %v, want %v (0 is never)", got, tc.want)
			}
		})
	}
}

func TestMemoryIsTreatedOnlyBeyondWhatTheSliceMayHave(t *testing.T) {
	uses := func(used, allowed uint64) func(int, *attach.Sample) {
		return func(_ int, s *attach.Sample) {
			s.Slices[0].MemoryBytes, s.Slices[0].AllowedBytes = 8000*mib, allowed*mib
			s.OnGPU[0].UsedBytes, s.Attached[0].CommittedBytes = used*mib, 100*mib
		}
	}
	for name, tc := range map[string]struct {
		change func(i int, s *attach.Sample)
		want   time.Duration
	}{
		"taken from who lent it":        {uses(4000, 3000), 30 * time.Second},
		"a large heap in its own":       {uses(2900, 3000), 0},
		"a little more":                 {uses(3500, 3000), 0},
		"what it may have is not known": {uses(4000, 0), 0},
		"given back within 10 s": {func(i int, s *attach.Sample) {
			uses(4000, 3000)(i, s)
			if i%20 == 0 {
				s.OnGPU[0].UsedBytes = 2900 * mib
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := treated(attach.UnaccountedMemory, tc.change); got != tc.want {
				t.Errorf("treated after %v, want %v (0 is never)", got, tc.want)
			}
		})
	}
}
