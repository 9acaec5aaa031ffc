// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Report is what is known of one held slice at the last sample.
type Report struct {
	Holder   gpu.Holder
	Activity api.SliceActivity
	Idle     Idle
}

// report puts what is known on the node's clock: wall is what it shows now.
func (t *track) report(now time.Duration, wall time.Time) Report {
	r := Report{Holder: t.holder, Idle: Idle{}}
	at := now
	for _, signal := range signals {
		m := t.marks[signal]
		switch {
		case !m.applies:
			continue
		case !m.known(now):
			r.Activity.Unknown = append(r.Activity.Unknown, string(signal))
			continue
		}
		at = min(at, m.seen)
		r.Idle[signal] = now - max(m.active, t.since)
		if m.active > 0 && m.active >= t.since {
			set(&r.Activity, signal, up(wall.Add(m.active-now)))
		}
	}
	r.Activity.Since, r.Activity.At = up(wall.Add(t.since-now)), down(wall.Add(at-now))
	return r
}

func set(a *api.SliceActivity, s Signal, at metav1.Time) {
	switch s {
	case GPU:
		a.GPUAt = &at
	case CPU:
		a.CPUAt = &at
	case Terminal:
		a.TerminalAt = &at
	}
}

// down is the minute that t is in, up the next one unless t begins one.
func down(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Minute)) }

func up(t time.Time) metav1.Time { return down(t.Add(time.Minute - time.Nanosecond)) }
