// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// Agents write once a minute how slices are used; that must not wake the loop.
func TestHowSlicesAreUsedDecidesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*api.NodePartitionStatus)
		want   bool
	}{
		"activity": {func(s *api.NodePartitionStatus) { s.Slices[0].Activity = &api.SliceActivity{At: metav1.Now()} }, false},
		"share":    {func(s *api.NodePartitionStatus) { s.Slices[0].Share = &api.SliceShare{UsedPercent: 7} }, false},
		"state":    {func(s *api.NodePartitionStatus) { s.Slices[0].State = "Free" }, true},
		"counters": {func(s *api.NodePartitionStatus) { s.Counters["gpu0"] = 50 }, true},
		"agent":    {func(s *api.NodePartitionStatus) { s.AgentVersion = "2" }, true},
	} {
		before := &api.NodePartition{Status: api.NodePartitionStatus{
			AgentVersion: "1", Counters: map[string]int64{"gpu0": 100}, Slices: []api.NodeSlice{{ID: "a", State: "Held"}},
		}}
		after := before.DeepCopy()
		tc.change(&after.Status)
		if got := partitionMatters(before, after); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
