// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
	"time"
)

// every is the lines of a program that has a part of the GPU, in windows of 0.1 s
// that are heard a little late.
func every(from time.Time, seconds int, part float64) (lines []line) {
	for i := range seconds * 10 {
		lines = append(lines, line{
			heard: from.Add(time.Duration(i+1)*100*time.Millisecond + time.Millisecond),
			gpu:   time.Duration(part * float64(100*time.Millisecond)),
		})
	}
	return lines
}

// What came before and after the measured seconds does not count.
func TestPortionIsOfTheSecondsMeasured(t *testing.T) {
	from := time.Unix(1000, 0)
	lines := every(from.Add(-3*time.Second), 3, 1)
	lines = append(lines, every(from, 4, 0.27)...)
	lines = append(lines, every(from.Add(4*time.Second), 1, 1)...)
	if got := portion(series(lines, from, 4)); math.Abs(got-0.27) > 1e-9 {
		t.Errorf("it has %.4f of the GPU, want 0.27", got)
	}
}

func TestShareErrors(t *testing.T) {
	second := func(of ...float64) (all []time.Duration) {
		for _, part := range of {
			all = append(all, time.Duration(part*float64(time.Second)))
		}
		return all
	}
	one, other := second(0.2, 0.4, 0, 0.3), second(0.8, 0.6, 0, 0.3) // at 20, 40, none, 50 %
	if got := shareErrors(one, other, 30, 1); math.Abs(got-40.0/3) > 1e-9 {
		t.Errorf("over 1 s the error is %.3f points, want 13.333", got)
	}
	if got := shareErrors(one, other, 30, 2); math.Abs(got-10) > 1e-9 { // 0.6 of 2, 0.3 of 0.6
		t.Errorf("over 2 s the error is %.3f points, want 10", got)
	}
	if got := shareErrors(one, other, 30, 10); !math.IsNaN(got) {
		t.Errorf("over 10 s, longer than all, the error is %.3f points, want none", got)
	}
}

func TestWholeWindowsAreMeasured(t *testing.T) {
	for measure, want := range map[time.Duration]int{
		time.Second: 1, 2500 * time.Millisecond: 2, 9999 * time.Millisecond: 9, 10 * time.Second: 10, 19 * time.Second: 10, time.Minute: 60,
	} {
		if got := (setup{measure: measure}).seconds(); got != want {
			t.Errorf("--measure %v takes %d s, want %d", measure, got, want)
		}
	}
}

// The share of the target is never told without what it is compared with.
func TestFiguresThatStandBeside(t *testing.T) {
	kind := ofAlone + ".plain_1ms"
	for asked, want := range map[string]map[string]bool{
		ofTarget:                       {ofTarget: true, ofRaw: true, kind: true},
		ofAlone:                        {ofTarget: false, ofRaw: false, kind: true},
		kind:                           {ofTarget: false, ofRaw: false, kind: true, ofAlone + ".ex_1ms": false},
		ofRaw:                          {ofTarget: false, ofRaw: true, kind: false},
		"sharer.real_harvest_percent":  {ofTarget: false, ofRaw: false, kind: false},
		"sharer.real_share*":           {ofTarget: true, ofRaw: true, kind: true},
		"sharer.real_share_of_target?": {ofTarget: false, ofRaw: false, kind: false},
	} {
		s := setup{figures: []string{asked}}
		for figure, wanted := range want {
			if got := s.prints(figure); got != wanted {
				t.Errorf("asked for %s, prints %s: %v, want %v", asked, figure, got, wanted)
			}
		}
	}
	if s := (setup{}); !s.prints(ofTarget) || !s.prints(kind) {
		t.Error("asked for nothing, it does not print all")
	}
}
