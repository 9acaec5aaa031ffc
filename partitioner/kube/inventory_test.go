// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	nodekube "aipub.io/aipub/node/kube"
)

// What the node agent writes must come back as the same GPUs, or controller and
// agent would plan different things.
func TestFromNodePartitionUndoesWhatTheAgentWrites(t *testing.T) {
	mig := &gpu.MIG{Enabled: true, LiveToggle: true, Profiles: []gpu.Profile{
		{Enum: 0, ID: 19, Name: "1g.18gb", ComputeSlices: 1, MemorySlices: 1, Multiprocessors: 16, MemoryBytes: 16 << 30, MaxCount: 7,
			Placements: []gpu.Placement{{Start: 0, Size: 1}, {Start: 1, Size: 1}}},
		{Enum: 7, ID: 20, Name: "1g.18gb+me", ComputeSlices: 1, MemorySlices: 1, MemoryBytes: 16 << 30, MaxCount: 1, MediaExtensions: true,
			Placements: []gpu.Placement{{Start: 0, Size: 1}}},
	}}
	gpus := []gpu.GPU{
		{Index: 0, Minor: 3, UUID: "GPU-a", Model: "NVIDIA H200", MemoryBytes: 141 << 30, NUMANode: 1, PCIBusID: "00000000:3B:00.0", MIG: mig},
		{Index: 1, Minor: 4, UUID: "GPU-b", Model: "NVIDIA L4", MemoryBytes: 24 << 30, NUMANode: gpu.NUMAUnknown},
	}
	p := &api.NodePartition{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	p.Status.Models = nodekube.Models(gpus)
	p.Status.GPUs = nodekube.GPUs(gpus, nil, nil)
	node := makeNode("n", "a")
	got := FromNodePartition(p, node.Status.Allocatable)
	if diff := cmp.Diff(gpus, got.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	if got.Name != "n" || got.CPUMilli != 64_000 || got.MemoryBytes != 512<<30 {
		t.Errorf("node %s has cpu %d, memory %d", got.Name, got.CPUMilli, got.MemoryBytes)
	}
}
