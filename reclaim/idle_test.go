// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"slices"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// sees tells a life what its node saw at a time.
func (l *life) sees(after time.Duration, gpu time.Duration) {
	used := time.Time{}
	if gpu > 0 {
		used = noon.Add(gpu)
	}
	l.subject.Watches = []Watch{watched(noon, noon.Add(after), used)}
}

func TestIdlenessIsWarnedOfAndPaused(t *testing.T) {
	l := newLife(t, policy("p", idle(120, api.IdleGPU)))
	l.sees(30*minute, 30*minute)
	d := l.at(30 * minute)
	if d.Deadline != nil || d.Occupancy.Signal != api.SignalActive || d.Occupancy.Reason != api.ReasonActive || !d.Next.Equal(noon.Add(90*minute-lead)) {
		t.Fatalf("%+v", d)
	}
	l.sees(90*minute, 30*minute)
	l.warned(90*minute, 150*minute)
	l.sees(140*minute, 30*minute)
	l.warned(140*minute, 150*minute)
	l.sees(150*minute, 30*minute)
	l.paused(150*minute, api.ReasonIdle, "p")
	if o := l.subject.Occupancy; o.Signal != api.SignalIdle || o.Evidence != "GPU used last at 2026-11-18 12:30 UTC" {
		t.Errorf("%+v", o)
	}
}

func TestWorkClearsWhatWasAnnounced(t *testing.T) {
	l := newLife(t, policy("p", idle(60, api.IdleGPU), hours(24)))
	l.sees(50*minute, 0)
	l.warned(50*minute, 60*minute)
	l.sees(55*minute, 55*minute)
	d := l.at(55 * minute)
	if d.Cleared == nil || d.Deadline == nil || d.Deadline.Reason != limit || len(d.Occupancy.Warnings) > 1 {
		t.Fatalf("%+v", d)
	}
	if want := "Workspace team/lab will not be paused at 2026-11-18 13:00 UTC: GPU used last at 2026-11-18 12:55 UTC."; d.Cleared.Text != want {
		t.Errorf("%s\nwant %s", d.Cleared.Text, want)
	}
	l.sees(115*minute, 55*minute) // nobody looked at 1 h 45 min, when the warning was due
	l.warned(115*minute, 125*minute)
}

func TestAGapBeginsTheWindowAnew(t *testing.T) {
	l := newLife(t, policy("p", idle(60, api.IdleGPU)))
	l.sees(50*minute, 0)
	l.warned(50*minute, 60*minute)
	d := l.at(60 * minute) // the last look was 10 minutes ago
	if d.Pause != nil || d.Cleared == nil || d.Occupancy.Signal != api.SignalUnknown || d.Occupancy.Reason != api.ReasonActivityUnknown ||
		d.Occupancy.Evidence != "not watched since 2026-11-18 12:50 UTC" {
		t.Fatalf("%+v", d)
	}
	l.subject.Watches = []Watch{watched(noon.Add(70*minute), noon.Add(80*minute), time.Time{})}
	if d := l.at(80 * minute); d.Occupancy.Evidence != "not watched before 2026-11-18 13:10 UTC" || d.Deadline != nil {
		t.Fatalf("%+v", d.Occupancy)
	}
	l.subject.Watches = []Watch{watched(noon.Add(70*minute), noon.Add(120*minute), time.Time{})}
	l.warned(120*minute, 130*minute)
}

func TestWarningsOfAnEarlierIdlenessDoNotHold(t *testing.T) {
	l := newLife(t, policy("p", idle(5, api.IdleGPU)))
	l.sees(6*minute, 0)
	l.warned(6*minute, 16*minute)
	// It works at 8 min and is idle again at 13 min, and nobody looked in between.
	l.sees(14*minute, 8*minute)
	l.warned(14*minute, 24*minute)
}

func TestIdlenessLeavesTheWarningsOfTheLimit(t *testing.T) {
	l := newLife(t, policy("p", idle(55, api.IdleGPU), hours(1)))
	l.warned(0, hour) // of the limit
	l.sees(45*minute, 0)
	if d := l.warned(45*minute, 55*minute); d.Warn.Reason != api.ReasonIdle {
		t.Fatalf("%+v", d.Warn)
	}
	l.sees(54*minute, 54*minute)
	if d := l.warned(54*minute, hour); d.Warn.Reason != limit || d.Cleared == nil {
		t.Fatalf("%+v", d)
	}
	l.paused(hour, limit, "p")
}

func TestWorkBetweenSpellsOfIdlenessDoesNotRenewTheGraceOfTheLimit(t *testing.T) {
	l := newLife(t, policy("idle", idle(30, api.IdleGPU), grace(1), warns()), policy("limit", hours(1), grace(45), warns()))
	used := time.Duration(0)
	for m := time.Duration(0); m < 200; m++ {
		if d := l.at(m * minute); d.Pause != nil {
			if d.Pause.Reason != limit || m > 61 {
				t.Errorf("paused after %d min for %s", m, d.Pause.Reason)
			}
			return
		} else if d.Deadline != nil && d.Deadline.Reason == api.ReasonIdle {
			used = m * minute
		}
		l.sees((m+1)*minute, used)
	}
	t.Error("it was never paused")
}

func TestAnExtensionKeepsItFromBeingIdle(t *testing.T) {
	l := newLife(t, policy("p", idle(60, api.IdleGPU), extendable(8)))
	l.sees(50*minute, 0)
	l.warned(50*minute, 60*minute)
	l.subject.Extend = 3600
	l.at(50 * minute)
	l.sees(61*minute, 0)
	if d := l.at(61 * minute); d.Pause != nil {
		t.Fatalf("%+v", d)
	}
	l.sees(100*minute, 0)
	l.warned(100*minute, 110*minute)
	l.sees(110*minute, 0)
	l.paused(110*minute, api.ReasonIdle, "p")
}

// Every combination of how long ago a signal was seen, since when and until when there
// was a watch, what cannot be seen, and how long the set is held.
func TestOnlyWhatWasWatchedForTheWholeWindowIsIdle(t *testing.T) {
	rule := Idle{After: hour, Signals: []api.IdleSignal{api.IdleGPU, api.IdleCPU}}
	now := noon.Add(10 * hour)
	ages := []time.Duration{-1, 0, 59 * minute, 60 * minute, 61 * minute, 5 * hour}
	for _, gpu := range ages {
		for _, cpu := range ages {
			for _, terminal := range ages {
				for _, since := range ages[1:] {
					for _, seen := range []time.Duration{-4 * minute, 0, 3 * minute, 3*minute + 1, 2 * hour} {
						for _, unknown := range []api.IdleSignal{"", api.IdleCPU, api.IdleTerminal} {
							for _, held := range ages[1:] {
								w := Watch{Since: now.Add(-since), At: now.Add(-seen), Active: map[api.IdleSignal]time.Time{}}
								for s, age := range map[api.IdleSignal]time.Duration{api.IdleGPU: gpu, api.IdleCPU: cpu, api.IdleTerminal: terminal} {
									if age >= 0 {
										w.Active[s] = now.Add(-age)
									}
								}
								if unknown != "" {
									w.Unknown = []api.IdleSignal{unknown}
								}
								active := gpu >= 0 && gpu < hour || cpu >= 0 && cpu < hour
								idle := !active && since >= hour && held >= hour && seen >= -Fresh && seen <= Fresh && unknown != api.IdleCPU
								want := api.SignalUnknown
								switch {
								case active:
									want = api.SignalActive
								case idle:
									want = api.SignalIdle
								}
								got := Observe(rule, []Watch{w}, now.Add(-held), now)
								if got.Value != want || got.Evidence == "" {
									t.Fatalf("gpu %v cpu %v since %v seen %v unknown %q held %v: %+v, want %s", gpu, cpu, since, seen, unknown, held, got, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

func TestAllContainersHaveToBeWatched(t *testing.T) {
	rule := Idle{After: hour, Signals: allSignals}
	now := noon.Add(10 * hour)
	idleOne := watched(noon, now, time.Time{})
	kernel := Watch{Since: noon, At: now, Active: map[api.IdleSignal]time.Time{api.IdleKernel: now.Add(-minute)}}
	tests := []struct {
		name     string
		watches  []Watch
		want     api.ActivitySignal
		evidence string
	}{
		{"none", nil, api.SignalUnknown, "its node says nothing of it"},
		{"one", []Watch{idleOne}, api.SignalIdle, "no use of GPU, CPU, Terminal or Kernel since 2026-11-18 12:00 UTC"},
		{"another that says nothing", []Watch{idleOne, OfSlice(nil)}, api.SignalUnknown, "its node says nothing of it"},
		{"another that works", []Watch{idleOne, watched(noon, now, now.Add(-12*minute))}, api.SignalActive, "GPU used last at 2026-11-18 21:48 UTC"},
		{"one that works, another that says nothing", []Watch{OfSlice(nil), watched(noon, now, now.Add(-12*minute))}, api.SignalActive, "GPU used last at 2026-11-18 21:48 UTC"},
		{"a kernel", []Watch{idleOne, kernel}, api.SignalActive, "a notebook kernel was used last at 2026-11-18 21:59 UTC"},
		{"a kernel that cannot be asked", []Watch{idleOne, {Since: noon, At: now, Unknown: []api.IdleSignal{api.IdleKernel}}}, api.SignalUnknown, "the use of notebook kernels cannot be seen on its node"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			if got := Observe(rule, x.watches, noon, now); got.Value != x.want || got.Evidence != x.evidence {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestASliceIsReadToTheMinute(t *testing.T) {
	a := api.SliceActivity{Since: *at(noon), At: *at(noon.Add(hour)), GPUAt: at(noon), CPUAt: at(noon), TerminalAt: at(noon.Add(minute)), Unknown: []string{"gpu", "cpu", "terminal", "nonsense"}}
	w := OfSlice(&a)
	if w.Cut != minute || len(w.Active) != 3 || !slices.Equal(w.Unknown, allSignals[:3]) {
		t.Errorf("%+v", w)
	}
	a.Unknown = nil
	rule := Idle{After: 59 * minute, Signals: allSignals}
	if s := Observe(rule, []Watch{OfSlice(&a)}, noon, noon.Add(hour)); s.Value != api.SignalActive || !strings.Contains(s.Evidence, "12:01") {
		t.Errorf("a terminal may have been used until 12:02: %+v", s)
	}
}

func TestWhoWorksIsNotWrittenDownEachMinute(t *testing.T) {
	l := newLife(t, policy("p", idle(120, api.IdleGPU)))
	writes := 0
	for m := time.Duration(1); m <= 600; m++ {
		l.sees(m*minute, m*minute)
		if l.at(m * minute).Changed {
			writes++
		}
	}
	if writes < 50 || writes > 62 {
		t.Errorf("%d writes in 10 h", writes)
	}
}

// TestWorkJustBeforeThePauseCounts has it work after its node told of it last.
func TestWorkJustBeforeThePauseCounts(t *testing.T) {
	for name, worked := range map[string]time.Duration{"it works": 59*minute + 30*time.Second, "it does not": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t, policy("p", idle(60, api.IdleGPU)))
			l.sees(50*minute, 0)
			l.warned(50*minute, 60*minute)
			l.sees(58*minute, 0)
			if d := l.at(60 * minute); d.Pause != nil || !d.Next.Equal(noon.Add(60*minute+peek)) {
				t.Fatalf("paused by what was seen 2 min ago: %+v", d)
			}
			l.sees(60*minute, worked)
			if d := l.at(60*minute + peek); (d.Pause != nil) != (worked == 0) || (d.Cleared != nil) != (worked > 0) {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestALimitWaitsForNoIdlenessThatIsYetToBeSeen(t *testing.T) {
	l := newLife(t, policy("p", idle(59, api.IdleGPU), hours(1)))
	l.warned(0, hour)
	l.sees(49*minute, 0)
	l.warned(49*minute, 59*minute)
	l.sees(58*minute, 0)
	l.paused(hour, limit, "p")
}
