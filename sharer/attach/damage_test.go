// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/attach"
)

func TestADamagedPageIsFoundForAMinuteAfterTheLastTime(t *testing.T) {
	a, s := attach.New(attach.Config{Builds: []string{"good"}}), sample()
	look := func() []attach.Finding {
		s.At = s.At.Add(500 * time.Millisecond)
		return a.Observe(s).Findings
	}
	if f := look(); len(f) != 0 {
		t.Fatalf("found %+v in a sound page", f)
	}
	var f []attach.Finding
	for range 10 {
		s.Slices[0].Damage++
		f = look()
	}
	if len(f) != 1 || f[0].Reason != attach.DamagedPage || f[0].Slice != "a" || f[0].Container.PodUID != podA.PodUID {
		t.Fatalf("found %+v, want the damaged page of slice a and its pod", f)
	}
	if got := attach.Kill.Decide(f[0], s.At.Add(time.Hour), 0); got != attach.Warn {
		t.Errorf("a damaged page is treated by %s, and harms nobody else: want warn", got)
	}
	// Words that were written over are no findings of their own.
	s.Attached[0].BuildID, s.Attached[0].Ungated = "ffff", true
	s.OnGPU[0].UsedBytes = 900 * mib
	for range 4 {
		f = look()
	}
	if len(f) != 1 || f[0].Reason != attach.DamagedPage {
		t.Errorf("found %+v in a damaged page, want that it is damaged and nothing else", f)
	}
	from := s.At.Add(-2 * time.Second)
	for len(f) > 0 && s.At.Sub(from) < time.Hour {
		f = look()
	}
	if d := s.At.Sub(from); d != time.Minute {
		t.Errorf("the finding ended %v after the last damage, want a minute", d)
	}
}

// A container that locks its own processes out is told what it did. What they say is
// believed all the same: a script that gives a whole folder to a user does it too.
func TestAPageThatIsLockedIsFoundAndBelieved(t *testing.T) {
	a, s := attach.New(attach.Config{}), sample()
	s.Slices[0].Locked = 1
	for range 120 {
		s.OnGPU[0].BusyPercent = 100
		for _, f := range a.Observe(s).Findings {
			if f.Reason != attach.DamagedPage || !strings.Contains(f.Message, "mode or the owner of the page of slice a once") {
				t.Fatalf("found %+v, want that the mode or the owner was changed", f)
			}
			if s.At >= sharer.Instant(time.Minute) {
				t.Fatal("it is still found after a minute")
			}
		}
		s.At = s.At.Add(500 * time.Millisecond)
		s.Attached[0].Busy += 500 * time.Millisecond
		if s.At == sharer.Instant(30*time.Second) && len(a.Observe(s).Findings) != 1 {
			t.Fatal("it is not found")
		}
	}
}
