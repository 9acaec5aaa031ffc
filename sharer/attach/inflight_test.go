// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/attach"
)

const look = 500 * time.Millisecond

// kernel is work on the GPU. It is told of when it ends, and not before.
type kernel struct{ launched, from, to time.Duration }

// program is what a process with the library does.
type program []kernel

// loop launches a kernel of a length again and again, each when all before it is
// done and told of, as the gate has it where others want the GPU.
func loop(begin, length, gap time.Duration) (p program) {
	for at := begin; at < 10*time.Minute; at += length + gap {
		p = append(p, kernel{at, at, at + length})
	}
	return p
}

// queue launches kernels one after the other at once, of which the gate knows not
// yet how long they take.
func queue(begin, length time.Duration, n int) (p program) {
	for i := range n {
		from := begin + time.Duration(i)*length
		p = append(p, kernel{begin, from, from + length})
	}
	return p
}

// at makes a sample what is seen of the program at a moment, by an agent that gives
// leases since another one. The library says one part in so many of each kernel: it
// goes by what the same kernel took before.
func (p program) at(t, since time.Duration, says int, s *attach.Sample) {
	at, busy, drained := &s.Attached[0], time.Duration(0), since
	at.Busy, at.InFlight, at.Launches = 0, false, 0
	for _, k := range p {
		if k.launched > t {
			continue
		}
		at.Launches++
		if k.to <= t {
			at.Busy += (k.to - k.from) / time.Duration(says)
		} else {
			at.InFlight = true
		}
		busy += max(0, min(t, k.to)-max(t-look, k.from))
		if k.launched >= since { // by a lease, which is not drained before
			s.Slices[0].Leased += max(0, min(t, k.to)-max(drained, k.launched))
			drained = max(drained, min(t, k.to))
		}
	}
	s.OnGPU[0].BusyPercent = int(100 * busy / look)
}

// judged are the findings of time in the samples until an end, and when a policy of
// Kill would first kill; 0: never.
func judged(until time.Duration, change func(t time.Duration, s *attach.Sample)) (found []attach.Finding, killed time.Duration) {
	a := attach.New(attach.Config{})
	for t := time.Duration(0); t <= until; t += look {
		s := sample()
		s.At = sharer.Instant(t)
		change(t, &s)
		for _, f := range a.Observe(s).Findings {
			if f.Reason != attach.UnaccountedTime {
				continue
			}
			found = append(found, f)
			if killed == 0 && attach.Kill.Decide(f, s.At, 5*time.Second) == attach.Kill {
				killed = t
			}
		}
	}
	return found, killed
}

func TestHonestKernelsAreNoFinding(t *testing.T) {
	const ms = time.Millisecond
	for _, length := range []time.Duration{100 * ms, 3 * time.Second, 12 * time.Second, time.Minute} {
		for _, begin := range []time.Duration{0, 130 * ms, 2700 * ms, 4900 * ms} {
			for name, p := range map[string]program{
				"one after the other": loop(begin, length, 0),
				"with short pauses":   loop(begin, length, 70*ms),
				"with long pauses":    loop(begin, length, 4*time.Second),
				"alone":               {kernel{begin, begin, begin + length}},
				"five at once":        queue(begin, length, 5),
			} {
				t.Run(fmt.Sprintf("%s of %v from %v", name, length, begin), func(t *testing.T) {
					// Agents that begin at all times of it; a library that says all, or little.
					for _, since := range []time.Duration{0, 500 * ms, 2 * time.Second, 11 * time.Second, 59 * time.Second} {
						for _, says := range []int{1, 1000} {
							found, _ := judged(4*time.Minute, func(t time.Duration, s *attach.Sample) { p.at(t+since, since, says, s) })
							if len(found) > 0 {
								t.Errorf("an agent that began after %v, with one part in %d said, found %+v", since, says, found[0])
							}
						}
					}
				})
			}
		}
	}
}

// While a process is checkpointed its marks stay as they were. It may have no more
// word of what ran when it was stopped.
func TestACheckpointIsNotTreated(t *testing.T) {
	for _, length := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 12 * time.Second, time.Minute} {
		for _, listed := range []bool{true, false} {
			p := loop(0, length, 0)
			const stopped, away = 28 * time.Second, 20 * time.Second
			_, killed := judged(4*time.Minute, func(t time.Duration, s *attach.Sample) {
				switch {
				case t < stopped:
					p.at(t, 0, 1, s)
				case t < stopped+away:
					p.at(stopped, 0, 1, s)
					s.Slices[0].Leased += t - stopped
					if s.OnGPU[0].BusyPercent = 0; !listed {
						s.OnGPU = nil
					}
				default:
					p.at(t-away, 0, 1, s)
					s.Slices[0].Leased += away
					s.Attached[0].Busy = max(0, s.Attached[0].Busy-length)
				}
			})
			if killed > 0 {
				t.Errorf("kernels of %v, listed meanwhile is %v: killed after %v", length, listed, killed)
			}
		}
	}
}

// A mark of work in flight may be false. It counts only until its process was once
// seen idle or launching, and only if the process is older than the agent.
func TestAFalseMarkHidesNothingForEver(t *testing.T) {
	for name, tc := range map[string]struct {
		mark func(i int, at *attach.Attached) // of a thief, in sample i
		want time.Duration
	}{
		"at each window's end":       {func(i int, at *attach.Attached) { at.InFlight = i%10 == 0 }, 15500 * time.Millisecond},
		"all the time but a moment":  {func(i int, at *attach.Attached) { at.InFlight = i%10 != 5 }, 20 * time.Second},
		"and lets go twice a minute": {func(i int, at *attach.Attached) { at.InFlight = i%60 != 30 }, 30 * time.Second},
		"while it launches beside":   {func(i int, at *attach.Attached) { at.InFlight, at.Launches = true, uint64(i) }, 15500 * time.Millisecond},
		"while it launches at times": {func(i int, at *attach.Attached) { at.InFlight, at.Launches = true, uint64(i/8) }, 20 * time.Second},
		"and counts back":            {func(i int, at *attach.Attached) { at.Busy = time.Duration(100-i%7) * time.Millisecond }, 15 * time.Second},
		"and lets its slot go at times": {func(i int, at *attach.Attached) {
			if i%8 == 7 {
				at.Process = attach.ProcessID{}
			}
		}, 20 * time.Second},
		"all the time, and came later": {func(i int, at *attach.Attached) {
			if at.InFlight = true; i < 10 {
				at.Process = attach.ProcessID{}
			}
		}, 21 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			_, killed := judged(4*time.Minute, func(t time.Duration, s *attach.Sample) {
				s.OnGPU[0].BusyPercent = 90
				tc.mark(int(t/look), &s.Attached[0])
			})
			if killed == 0 || killed > tc.want {
				t.Errorf("killed after %v, want %v at the latest (0 is never)", killed, tc.want)
			}
		})
	}
}

// What is in flight for minutes may be one kernel: that is told, and never treated.
func TestWorkThatIsInFlightForMinutesIsTold(t *testing.T) {
	for name, change := range map[string]func(t time.Duration, s *attach.Sample){
		"since before the agent": func(time.Duration, *attach.Sample) {},
		"since its turn was taken": func(t time.Duration, s *attach.Sample) {
			s.Attached[0].InFlight = t > 0
			s.Slices[0].Leased, s.Slices[0].Overdue = t, t
		},
	} {
		found, killed := judged(20*time.Minute, func(t time.Duration, s *attach.Sample) {
			s.OnGPU[0].BusyPercent, s.Attached[0].InFlight = 90, true
			change(t, s)
		})
		if killed > 0 {
			t.Errorf("%s: killed after %v", name, killed)
		}
		if len(found) == 0 || !found[0].Unsure || found[0].Since < sharer.Instant(5*time.Minute) || found[0].Since > sharer.Instant(6*time.Minute) {
			t.Errorf("%s: found %+v, want it told after five minutes, and unsure", name, found)
		} else if !strings.Contains(found[0].Message, "may be one kernel") {
			t.Errorf("%s: the message does not say what it may be: %s", name, found[0].Message)
		}
	}
}
