// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"os"
	"testing"
	"time"

	"aipub.io/aipub/sharer/proc"
)

func TestSelf(t *testing.T) {
	id, err := procFS{proc.Host}.self(os.Getpid())
	if err != nil || id.owner != uint64(os.Getpid()) || id.start == 0 {
		t.Errorf("this process is %+v, %v; want PID %d", id, err, os.Getpid())
	}
}

func TestInnermostPID(t *testing.T) {
	for status, want := range map[string]uint64{
		"Name:\tx\nNSpid:\t77\nNSpgid:\t1\n":           77,
		"Name:\tx\nNSpid:\t4711\t12\t1\nNSpgid:\t9\n":  1,
		"Name:\tNSpid:\t5\nNSpid:\t4711\t12\nVmPeak:9": 12,
		"Name:\tx\nNSpid:\n":                           0,
		"Name:\tx\n":                                   0,
		"":                                             0,
	} {
		if got, err := innermostPID([]byte(status)); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v; want %d", status, got, err, want)
		}
	}
}

// A tenant whose predictions are too early gets them corrected; one that mends its
// ways is believed again.
func TestSlack(t *testing.T) {
	var s slack
	for range 100 {
		s.learn(100 * time.Microsecond) // the way of the messages
		s.learn(-time.Hour)
	}
	if s != 0 {
		t.Errorf("true predictions are corrected by %v", time.Duration(s))
	}
	s.learn(50 * time.Millisecond)
	s.learn(time.Millisecond)
	if d := time.Duration(s); d < 40*time.Millisecond || d > 50*time.Millisecond {
		t.Errorf("after 50 ms the correction is %v", d)
	}
	for range 200 {
		s.learn(0)
	}
	if d := time.Duration(s); d > time.Millisecond {
		t.Errorf("after many true predictions the correction is still %v", d)
	}
}

// What a container claims stays in range, in sums too.
func TestClaimsAreBounded(t *testing.T) {
	const all = ^uint64(0)
	var m Memory
	m.add(Memory{Committed: all, Pending: all, Overhead: all})
	m.add(m)
	if got := m.Total(); got != most {
		t.Errorf("the total is %d, want %d", got, uint64(most))
	}
	var w Work
	for range 3 {
		w.add(Work{Launches: all, Busy: 1<<63 - 1})
	}
	if w.Launches != most || w.Busy != most {
		t.Errorf("work is %+v", w)
	}
	if got := boundedUse(all, time.Second); got != time.Second {
		t.Errorf("a claim of all time counts %v, want 1 s", got)
	}
}
