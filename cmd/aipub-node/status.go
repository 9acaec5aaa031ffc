// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/node/kube"
)

// status is the NodePartition's status now.
func (a *agent) status() api.NodePartitionStatus {
	t, snap := a.last(), a.state.Snapshot()
	s := api.NodePartitionStatus{
		DriverVersion: t.inventory.DriverVersion, AgentVersion: version, BootID: a.bootID,
		GPUCount: int32(len(t.gpus)),
		Models:   kube.Models(t.gpus),
		GPUs:     kube.GPUs(t.gpus, a.state.Layout().Modes, snap.GPUs),
		Counters: kube.Counters(snap),
		Slices:   kube.Slices(snap),
		Sets:     kube.Sets(snap),
	}
	a.describeShares(s.Slices)
	a.describeActivity(s.Slices)
	a.describeFences(s.GPUs)
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
	s.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: ready, Reason: reason, Message: t.message}}
	return s
}
