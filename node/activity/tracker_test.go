// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// start is the time since boot at which the tests' time begins, and noon what the
// node's clock shows then.
const start = 1000 * time.Hour

var (
	noon   = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	holder = gpu.Holder{Namespace: "team", Pod: "nb-0", Container: "main", PodUID: "u1"}
)

// film drives a tracker with one slice, which works as the test says.
type film struct {
	t       *testing.T
	tracker *Tracker
	at      time.Duration // since start
	step    time.Duration // of the node's clock so far
	slice   Slice
	last    Report
}

func newFilm(t *testing.T) *film {
	idle := 0.0
	return &film{
		t: t, tracker: NewTracker(Thresholds{CPUPercent: 10, GPUPercent: 1}), at: -10 * time.Second,
		slice: Slice{ID: "s", Holder: holder, HasGPU: true, GPUPeak: &idle, CPUTime: &Usage{Of: "c1"}, Terminals: Terminals{}},
	}
}

// run takes samples every ten seconds for a while, each after change, and checks
// what must hold whatever happens.
func (f *film) run(long time.Duration, change func(s *Slice)) Report {
	f.t.Helper()
	for end := f.at + long; f.at < end; {
		f.at += 10 * time.Second
		if change != nil {
			change(&f.slice)
		}
		f.sample()
	}
	return f.last
}

func (f *film) sample() {
	f.t.Helper()
	wall := noon.Add(f.at + f.step)
	f.last = f.tracker.Observe(Sample{Boot: start + f.at, Wall: wall, Slices: []Slice{f.slice}})["s"]
	a := f.last.Activity
	if a.At.After(wall) {
		f.t.Fatalf("at %v, %v after the sample", a.At, a.At.Sub(wall))
	}
	for s, idle := range f.last.Idle {
		if idle < 0 || idle > f.at {
			f.t.Fatalf("%s idle for %v of %v", s, idle, f.at)
		}
	}
}

func (f *film) expect(want api.SliceActivity) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.last.Activity); diff != "" {
		f.t.Errorf("activity (-want +got):\n%s", diff)
	}
}

// minute is a time so many minutes after noon.
func minute(n int) *metav1.Time { t := up(noon.Add(time.Duration(n) * time.Minute)); return &t }

func busyCPU(s *Slice) { s.CPUTime = &Usage{Of: s.CPUTime.Of, Total: s.CPUTime.Total + 2*time.Second} }

func idleCPU(s *Slice) {
	s.CPUTime = &Usage{Of: s.CPUTime.Of, Total: s.CPUTime.Total + 900*time.Millisecond}
}

func blind(s *Slice) { s.CPUTime, s.GPUPeak, s.Terminals = nil, nil, nil }

func TestAnIdleSliceIsWatched(t *testing.T) {
	f := newFilm(t)
	f.run(30*time.Minute, idleCPU)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(29)})
	if f.last.Idle[CPU] != 29*time.Minute+50*time.Second {
		t.Errorf("idle for %v", f.last.Idle)
	}
}

func TestEachSignalIsActivity(t *testing.T) {
	cases := map[string]struct {
		work func(s *Slice)
		want api.SliceActivity
	}{
		"cpu": {busyCPU, api.SliceActivity{CPUAt: minute(2)}},
		"a whole GPU": {func(s *Slice) {
			percent := 2.0
			s.GPUPeak = &percent
		}, api.SliceActivity{GPUAt: minute(2)}},
		"a GPU at the threshold": {func(s *Slice) {
			percent := 1.0
			s.GPUPeak = &percent
		}, api.SliceActivity{}},
		"a terminal with output": {func(s *Slice) { s.Terminals = Terminals{"0": {Output: s.Terminals["0"].Output + 1}} }, api.SliceActivity{TerminalAt: minute(2)}},
		"a terminal with input":  {func(s *Slice) { s.Terminals = Terminals{"0": {Input: s.Terminals["0"].Input + 1}} }, api.SliceActivity{TerminalAt: minute(2)}},
		"a terminal that closes": {func(s *Slice) { s.Terminals = Terminals{} }, api.SliceActivity{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFilm(t)
			f.slice.Terminals = Terminals{"0": {Output: 7, Input: 7}}
			f.run(time.Minute, nil)
			f.run(time.Minute, tc.work)
			idle := 0.0
			f.run(10*time.Minute, func(s *Slice) { s.GPUPeak = &idle })
			tc.want.Since, tc.want.At = *minute(0), *minute(11)
			f.expect(tc.want)
		})
	}
}

func TestAnOpenSilentTerminalIsNoActivity(t *testing.T) {
	f := newFilm(t)
	f.run(time.Minute, nil)
	f.slice.Terminals = Terminals{"0": {Output: 5}} // somebody comes
	f.run(time.Hour, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(60), TerminalAt: minute(1)})
}

func TestABlockSliceIsMeasuredByItsTime(t *testing.T) {
	f := newFilm(t)
	f.slice.GPUPeak, f.slice.GPUTime = nil, &Usage{Of: "tenant", Total: time.Hour}
	f.run(3*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(2)})
	f.run(10*time.Second, func(s *Slice) { s.GPUTime = &Usage{Of: "tenant", Total: time.Hour + 200*time.Millisecond} })
	f.run(time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(4), GPUAt: minute(3)})
	// The agent's account begins anew: what is in it was used since.
	f.run(10*time.Second, func(s *Slice) { s.GPUTime = &Usage{Of: "tenant", Total: 500 * time.Millisecond} })
	f.run(time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(5), GPUAt: minute(5)})
}

func TestASetWithoutGPUHasNothingToSee(t *testing.T) {
	f := newFilm(t)
	f.slice.HasGPU, f.slice.GPUPeak = false, nil
	r := f.run(3*time.Minute, nil)
	if _, ok := r.Idle[GPU]; ok || len(r.Activity.Unknown) != 0 {
		t.Errorf("%+v", r)
	}
}

func TestAGPUThatIsNotSeenIsUnknownAndNotIdle(t *testing.T) {
	f := newFilm(t)
	f.slice.GPUPeak = nil
	r := f.run(3*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(2), Unknown: []string{"gpu"}})
	if _, ok := r.Idle[GPU]; ok {
		t.Error("it is said how long it was idle")
	}
}

func TestAShortGapIsNone(t *testing.T) {
	f := newFilm(t)
	f.run(10*time.Minute, nil)
	before := f.slice
	f.run(50*time.Second, blind)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(9)}) // nobody has looked since
	f.slice = before
	f.run(2*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(12)})
}

func TestWhatWasUsedInAShortGapCounts(t *testing.T) {
	f := newFilm(t)
	f.run(10*time.Minute, nil)
	before := f.slice
	f.run(30*time.Second, blind)
	f.slice = before
	f.run(10*time.Second, func(s *Slice) { s.CPUTime = &Usage{Of: "c1", Total: 10 * time.Second} })
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(10), CPUAt: minute(11)})
}

func TestAfterAGapTheWatchBeginsAnew(t *testing.T) {
	f := newFilm(t)
	f.run(10*time.Minute, busyCPU)
	before := f.slice
	f.run(80*time.Second, blind)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(11), Unknown: []string{"gpu", "cpu", "terminal"}})
	f.slice = before
	f.run(2*time.Minute, func(s *Slice) { // worked meanwhile: nobody saw when
		s.CPUTime, s.Terminals = &Usage{Of: "c1", Total: time.Hour}, Terminals{"0": {Output: 9}}
	})
	f.expect(api.SliceActivity{Since: *minute(12), At: *minute(13)})
}

func TestAGapOfOneSignalBeginsTheWatchAnew(t *testing.T) {
	f := newFilm(t)
	cpu := f.slice.CPUTime
	f.run(10*time.Minute, nil)
	f.run(5*time.Minute, func(s *Slice) { s.CPUTime = nil })
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(14), Unknown: []string{"cpu"}})
	f.run(5*time.Minute, func(s *Slice) { s.CPUTime = cpu })
	f.expect(api.SliceActivity{Since: *minute(15), At: *minute(19)})
}

func TestAnAgentThatWasAwayBeginsAnew(t *testing.T) {
	f := newFilm(t)
	f.run(10*time.Minute, busyCPU)
	f.at += 10 * time.Minute // stopped, or the machine slept
	f.sample()
	f.run(5*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(20), At: *minute(24)})
}

func TestAnotherHolderBeginsAnew(t *testing.T) {
	others := map[string]gpu.Holder{
		"a pod of the same name": {Namespace: "team", Pod: "nb-0", Container: "main", PodUID: "u2"},
		"another pod":            {Namespace: "team", Pod: "nb-1", Container: "main", PodUID: "u1"},
		"another container":      {Namespace: "team", Pod: "nb-0", Container: "side", PodUID: "u1"},
	}
	for name, other := range others {
		t.Run(name, func(t *testing.T) {
			f := newFilm(t)
			f.run(10*time.Minute, busyCPU)
			f.slice.Holder, f.slice.CPUTime = other, &Usage{Of: "c2", Total: time.Hour}
			r := f.run(5*time.Minute, nil)
			f.expect(api.SliceActivity{Since: *minute(10), At: *minute(14)})
			if r.Holder != other {
				t.Errorf("of %v", r.Holder)
			}
		})
	}
}

func TestASliceThatWasFreeBeginsAnew(t *testing.T) {
	f := newFilm(t)
	f.run(10*time.Minute, busyCPU)
	f.at += 10 * time.Second
	if got := f.tracker.Observe(Sample{Boot: start + f.at, Wall: noon.Add(f.at)}); len(got) != 0 {
		t.Errorf("of a slice that nobody has: %v", got)
	}
	f.run(5*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(11), At: *minute(15)})
}

func TestTheUIDMayBecomeKnownLater(t *testing.T) {
	f := newFilm(t)
	f.slice.Holder.PodUID = ""
	f.run(5*time.Minute, nil)
	f.slice.Holder.PodUID = "u1"
	f.run(5*time.Minute, nil)
	f.slice.Holder.PodUID = ""
	f.run(5*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(14)})
	f.slice.Holder.PodUID = "u2"
	f.run(5*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(15), At: *minute(19)})
}

func TestARestartedContainerCountsFromItsStart(t *testing.T) {
	f := newFilm(t)
	f.slice.CPUTime.Total = time.Hour
	f.run(5*time.Minute, nil)
	f.run(10*time.Second, func(s *Slice) { s.CPUTime = &Usage{Of: "c2", Total: 2 * time.Hour} })
	f.run(5*time.Minute, nil)
	f.expect(api.SliceActivity{Since: *minute(0), At: *minute(10), CPUAt: minute(5)})
}

func TestAStepOfTheClockIsNeitherActivityNorTime(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": 48 * time.Hour, "back": -48 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			f := newFilm(t)
			f.run(10*time.Minute, nil)
			f.run(10*time.Second, busyCPU)
			f.run(10*time.Minute, nil)
			idle, before := f.last.Idle[CPU], f.last.Activity
			f.step = step
			f.run(10*time.Second, nil)
			if got := f.last.Idle[CPU]; got != idle+10*time.Second {
				t.Errorf("idle for %v after %v", got, idle)
			}
			a := f.last.Activity
			if a.Since.Sub(before.Since.Time) != step || a.CPUAt.Sub(before.CPUAt.Time) != step {
				t.Errorf("times did not move by %v together: %v, before %v", step, a, before)
			}
			if a.GPUAt != nil || a.TerminalAt != nil || a.Unknown != nil {
				t.Errorf("the step counts as something: %+v", a)
			}
		})
	}
}

func TestABusyContainerIsWrittenOnceAMinute(t *testing.T) {
	f := newFilm(t)
	f.run(time.Minute, busyCPU)
	changes, before := 0, f.last.Activity
	for range 60 {
		f.run(10*time.Second, busyCPU)
		if !cmp.Equal(before, f.last.Activity) {
			changes, before = changes+1, f.last.Activity
		}
	}
	if changes > 20 {
		t.Errorf("%d versions in ten minutes; want two a minute at most", changes)
	}
}
