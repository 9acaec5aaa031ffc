// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"aipub.io/aipub/gpu/nvml"
	loan "aipub.io/aipub/sharer/memory"
)

// pace is how fast the agent's loops turn. Tests turn them faster.
type pace struct {
	// open is the pause between attempts to open the driver: a driver container
	// can take minutes to load it. read bounds one look at all GPUs, close how
	// long the driver's unfinished calls are waited for.
	open, read, close time.Duration
	// publish gathers changes that come together into one write; republish is
	// the pause after a write that went wrong.
	publish, republish time.Duration
	// recheck is how often a GPU that something outside of Kubernetes keeps busy
	// is looked at: nobody says when a process ends.
	recheck time.Duration
	// shares is how often the NodePartition is told what slices are used for: often
	// enough for a dashboard and for who counts on the activity, seldom enough for
	// an API server with many nodes. The average of the shares is over the same
	// time. sharesFirst is that of an agent that has just started.
	sharesFirst, shares time.Duration
	// activity is how often it is looked at what the holders of slices do.
	activity time.Duration
	// settle, observe and soon are those of the node's state and of the
	// kubelet's poller; their defaults when 0.
	settle, observe, soon time.Duration
	// loans is how patient loans of device memory are.
	loans loan.Config
	// watch is how health is watched.
	watch nvml.WatchConfig
}

func usualPace() pace {
	return pace{
		open: 5 * time.Second, read: time.Minute, close: 5 * time.Second,
		publish: 200 * time.Millisecond, republish: 2 * time.Second,
		recheck: 15 * time.Second, activity: 10 * time.Second,
		sharesFirst: 10 * time.Second, shares: time.Minute,
	}
}

// pause waits; false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// notify fills a channel of one without blocking.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
