// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
)

const (
	// publishPause gathers changes that come together into one write.
	publishPause = 200 * time.Millisecond
	publishRetry = 2 * time.Second
)

// status is the NodePartition's status now. conditions are those of last time,
// so that their transition times stay true.
func (a *agent) status(conditions []metav1.Condition) api.NodePartitionStatus {
	t, snap := a.last(), a.state.Snapshot()
	s := api.NodePartitionStatus{
		DriverVersion: t.inventory.DriverVersion, AgentVersion: version, BootID: a.bootID,
		GPUCount: int32(len(t.gpus)),
		Models:   kube.Models(t.gpus),
		GPUs:     kube.GPUs(t.gpus, a.state.Layout().Modes, snap.GPUs),
		Slices:   kube.Slices(snap),
		Sets:     kube.Sets(snap),
	}
	for _, z := range t.numa {
		s.NUMA = append(s.NUMA, api.NUMANode{ID: int32(z.ID), CPUs: int32(z.CPUs), Memory: *resource.NewQuantity(z.MemoryBytes, resource.BinarySI)})
	}
	if t.policy != nil {
		s.Policy, s.PolicyGeneration = t.policy.Name, t.policy.Generation
		s.Rejections = t.report.Rejections
		s.Remainder = api.Reserve{
			CPU:    resource.NewMilliQuantity(t.report.Remainder.CPUMilli, resource.DecimalSI),
			Memory: resource.NewQuantity(t.report.Remainder.MemoryBytes, resource.BinarySI),
		}
	}
	ready := metav1.ConditionFalse
	if t.reason == api.ReasonApplied {
		ready = metav1.ConditionTrue
	}
	reason := t.reason
	if reason == "" {
		reason = api.ReasonPending
	}
	s.Conditions = conditions
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: api.ConditionReady, Status: ready, Reason: reason, Message: t.message})
	return s
}

// follow does what a change of the node's state asks for: remember it, publish
// it, and, if the node waits for something to end, look again.
func (a *agent) follow(ctx context.Context, p *kube.Publisher, told <-chan struct{}, poke func()) error {
	changed, stop := a.state.Watch()
	defer stop()
	var conditions []metav1.Condition
	var before map[gpu.SliceID]bool
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-told:
		case <-retry.C:
		}
		if !pause(ctx, publishPause) {
			return nil
		}
		a.memory.save(a.record())
		now := held(a.state.Snapshot())
		if a.waits() && len(now) < len(before) {
			poke()
		}
		before = now
		t := a.last()
		if t.desired.NodeUID == "" {
			continue // the cluster has not been heard yet
		}
		s := a.status(conditions)
		if err := p.Publish(ctx, t.desired.NodeUID, s); err != nil {
			a.log.Error(err, "publish; trying again")
			retry.Reset(publishRetry)
			continue
		}
		conditions = s.Conditions
	}
}

// pause waits; false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
