// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// publisher writes the NodePartition.
type publisher interface {
	Publish(ctx context.Context, uid types.UID, status api.NodePartitionStatus) error
}

// follow does what a change of the node's state asks for: remember it, publish
// it, and, if the node waits for something to end, look again.
func (a *agent) follow(ctx context.Context, p publisher, poke func()) {
	changed, stop := a.state.Watch()
	defer stop()
	recheck := time.NewTicker(a.pace.recheck)
	defer recheck.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-recheck.C:
			if a.last().processes {
				poke()
			}
			continue
		case <-changed:
		case <-a.said:
		case <-retry.C:
		}
		if !pause(ctx, a.pace.publish) {
			return
		}
		a.memory.save(a.record())
		t := a.last()
		if t.behind && ended(t.held, a.state.Snapshot()) {
			poke()
		}
		if t.desired.NodeUID == "" {
			continue // the cluster has not been heard yet
		}
		if err := p.Publish(ctx, t.desired.NodeUID, a.status()); err != nil && ctx.Err() == nil {
			a.log.Error(err, "publish; trying again")
			retry.Reset(a.pace.republish)
		}
	}
}

// ended reports whether one of the slices that were held is not any more.
func ended(before map[gpu.SliceID]bool, s gpu.Snapshot) bool {
	now := held(s)
	for id := range before {
		if !now[id] {
			return true
		}
	}
	return false
}
