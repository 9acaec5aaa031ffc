// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	"aipub.io/aipub/gpu"
)

// sight is what one sample says of one signal.
type sight int

const (
	absent sight = iota // the slice has no such signal
	unseen
	quiet
	active
)

// track is what is known of one slice and its holder. Times are since boot.
type track struct {
	holder    gpu.Holder
	since     time.Duration
	marks     map[Signal]mark
	cpu, used meter
	terminals Terminals // nil before the first reading
}

// mark is what is known of one signal; a zero time is never.
type mark struct {
	applies      bool
	seen, active time.Duration
}

// known reports whether the signal was seen without a gap up to now.
func (m mark) known(now time.Duration) bool { return m.seen > 0 && now-m.seen <= Gap }

func newTrack(h gpu.Holder, now time.Duration) *track {
	return &track{holder: h, since: now, marks: map[Signal]mark{}}
}

// observe takes in one sample of the slice.
func (t *track) observe(s Slice, now time.Duration, limits Thresholds) {
	for _, signal := range signals {
		m := t.marks[signal]
		if !m.known(now) {
			t.forget(signal)
		}
		seen := t.look(signal, s, now, limits)
		m.applies = seen != absent
		if seen == quiet || seen == active {
			if !m.known(now) {
				t.since = now
			}
			m.seen = now
		}
		if seen == active {
			m.active = now
		}
		t.marks[signal] = m
	}
}

// forget drops what a signal is compared with.
func (t *track) forget(s Signal) {
	switch s {
	case GPU:
		t.used = meter{}
	case CPU:
		t.cpu = meter{}
	case Terminal:
		t.terminals = nil
	}
}

func (t *track) look(signal Signal, s Slice, now time.Duration, limits Thresholds) sight {
	switch signal {
	case GPU:
		return t.lookAtGPU(s, now, limits.GPUPercent)
	case CPU:
		if s.CPUTime == nil {
			return unseen
		}
		return above(t.cpu.percent(*s.CPUTime, now), limits.CPUPercent)
	default:
		return t.lookAtTerminals(s.Terminals)
	}
}

func (t *track) lookAtGPU(s Slice, now time.Duration, limit float64) sight {
	switch {
	case !s.HasGPU:
		return absent
	case s.GPUPeak != nil:
		return above(*s.GPUPeak, limit)
	case s.GPUTime != nil:
		return above(t.used.percent(*s.GPUTime, now), limit)
	default:
		return unseen
	}
}

func (t *track) lookAtTerminals(now Terminals) sight {
	if now == nil {
		return unseen
	}
	before := t.terminals
	t.terminals = now
	if before != nil && now.moved(before) {
		return active
	}
	return quiet
}

func above(percent, limit float64) sight {
	if percent > limit {
		return active
	}
	return quiet
}
