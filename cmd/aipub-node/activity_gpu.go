// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/activity"
	"aipub.io/aipub/sharer"
)

// loadPatience is how long one GPU is waited for: the others must be seen, too.
const loadPatience = 2 * time.Second

// loads remembers what of the driver's samples was read.
type loads struct {
	seen  map[string]uint64 // by GPU
	ahead time.Duration     // of the clock that they are stamped with, to one that never steps
}

// watch drops what was read when the clock was set back: the driver's samples
// are then older than those that it had before.
func (l *loads) watch(now time.Time, boot time.Duration) {
	const slack = time.Second
	ahead := time.Duration(now.UnixNano()) - boot
	if ahead < l.ahead-slack {
		clear(l.seen)
	}
	l.ahead = ahead
}

// lookAtGPUs looks at the GPUs of what is held. The function that it returns says
// what was seen of a slice's.
func (a *agent) lookAtGPUs(ctx context.Context, l *loads, held []gpu.Status) func(gpu.Status) activity.Slice {
	l.watch(time.Now(), sinceBoot())
	peaks, tenants := map[string]float64{}, map[string]sharer.TenantReport{}
	for _, st := range held {
		if st.Slice.Kind == gpu.KindWhole {
			a.readLoads(ctx, l, st.Slice.GPUs, peaks)
		}
	}
	for _, t := range a.report().Tenants {
		for _, id := range t.Slices {
			tenants[id] = t
		}
	}
	return func(st gpu.Status) activity.Slice {
		s := activity.Slice{ID: st.Slice.ID, Holder: st.Holder, HasGPU: st.Slice.Kind != gpu.KindCPU}
		switch st.Slice.Kind {
		case gpu.KindWhole:
			s.GPUPeak = peakOf(st.Slice.GPUs, peaks)
		case gpu.KindBlock:
			// Work past the limiter is not in its account.
			if t, ok := tenants[string(st.Slice.ID)]; ok && len(t.Findings) == 0 {
				s.GPUTime = &activity.Usage{Of: string(t.ID), Total: t.Used}
			}
		case gpu.KindMIG, gpu.KindCPU: // the driver tells nothing of an instance's use; there is nothing to tell
		}
		return s
	}
}

// readLoads adds to peaks what was seen of the GPUs that are not in it.
func (a *agent) readLoads(ctx context.Context, l *loads, uuids []string, peaks map[string]float64) {
	driver := a.hardware.opened()
	if driver == nil {
		return
	}
	for _, uuid := range uuids {
		if _, ok := peaks[uuid]; ok {
			continue
		}
		one, cancel := context.WithTimeout(ctx, loadPatience)
		load, err := driver.Load(one, uuid, l.seen[uuid])
		cancel()
		if err != nil {
			a.log.V(1).Info("read the load", "gpu", uuid, "cause", err.Error())
			continue
		}
		l.seen[uuid] = load.Seen
		if load.Known {
			peaks[uuid] = float64(load.PeakPercent)
		}
	}
}

// peakOf is the busiest of some GPUs; nil unless all were seen.
func peakOf(uuids []string, peaks map[string]float64) *float64 {
	peak := 0.0
	for _, uuid := range uuids {
		percent, ok := peaks[uuid]
		if !ok {
			return nil
		}
		peak = max(peak, percent)
	}
	return &peak
}
