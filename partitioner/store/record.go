// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"aipub.io/aipub/gpu"
)

// Version is the format that this package writes. It reads no other: a change
// of the format must add the conversion here.
const Version = 1

// Record is what was applied to a node, and what must be known to register its
// slices again.
type Record struct {
	// BootID of the kernel when the record was written. Another one now means
	// that MIG instances are gone.
	BootID string `json:"bootID,omitempty"`
	// Policy that the layout came from.
	Policy Policy `json:"policy"`
	// Layout of the node.
	Layout gpu.Layout `json:"layout"`
	// Instances are the MIG instances behind slices, as last created.
	Instances map[gpu.SliceID]gpu.Instance `json:"instances,omitempty"`
	// Held are the slices that containers have, also those that the layout no
	// longer has.
	Held []Held `json:"held,omitempty"`
	// Facts of the node as last read.
	Facts Facts `json:"facts"`
	// SavedAt is when the record was made.
	SavedAt time.Time `json:"savedAt"`
}

// Held is a slice that a container has.
type Held struct {
	// Slice as it was defined when it was given away; the layout may define it
	// otherwise by now.
	Slice gpu.Slice `json:"slice"`
	// Holder as far as it is known.
	Holder gpu.Holder `json:"holder"`
	// Since is when the holding began.
	Since time.Time `json:"since"`
}

// Policy names a PartitionPolicy and its generation.
type Policy struct {
	Name       string `json:"name,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// Facts are what the hardware said.
type Facts struct {
	DriverVersion string `json:"driverVersion,omitempty"`
	CUDAVersion   string `json:"cudaVersion,omitempty"`
	// GPUs in the driver's order.
	GPUs []gpu.GPU `json:"gpus,omitempty"`
	// NUMA nodes of the host.
	NUMA []NUMANode `json:"numa,omitempty"`
}

// NUMANode is one NUMA node of the host.
type NUMANode struct {
	ID          int   `json:"id"`
	CPUs        int   `json:"cpus"`
	MemoryBytes int64 `json:"memoryBytes"`
}
