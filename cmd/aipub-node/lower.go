// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/gpu"
)

// lowerTimeout bounds one attempt: after it the kubelet's own status has come.
const lowerTimeout = 10 * time.Second

// lower takes from the scheduler, each time that slices stop being available,
// what is not available any more, until ctx ends. It waits for nothing else: the
// scheduler goes on binding pods meanwhile. An attempt that does not work is
// only logged, once in a row: the kubelet's next status says the same.
func (a *agent) lower(ctx context.Context, lower func(context.Context, map[string]int64) error) {
	if lower == nil {
		return
	}
	changed, stop := a.state.Watch()
	defer stop()
	before, ailing := available(a.state.Snapshot()), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		now := available(a.state.Snapshot())
		down := fallen(before, now)
		before = now
		if len(down) == 0 {
			continue
		}
		attempt, cancel := context.WithTimeout(ctx, lowerTimeout)
		err := lower(attempt, down)
		cancel()
		if err != nil && !ailing && ctx.Err() == nil {
			a.log.Error(err, "lower what is allocatable; the kubelet does so with its next status")
		}
		ailing = err != nil
	}
}

// available is how many devices of each resource are advertised as available,
// which is what the kubelet will say is allocatable.
func available(s gpu.Snapshot) map[string]int64 {
	counts := map[string]int64{}
	for _, set := range deviceplugin.Sets(s) {
		n := int64(0)
		for _, d := range deviceplugin.Devices(s, set) {
			if d.Healthy {
				n++
			}
		}
		counts[gpu.ResourceName(set)] = n
	}
	return counts
}

// fallen are the resources of which fewer are available now than before.
func fallen(before, now map[string]int64) map[string]int64 {
	down := map[string]int64{}
	for name, n := range before {
		if now[name] < n { // 0 when it is gone
			down[name] = now[name]
		}
	}
	return down
}
