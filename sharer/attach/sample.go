// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// Sample is what is seen of the block GPUs of a node at one moment.
type Sample struct {
	At       sharer.Instant
	OnGPU    []OnGPU
	Slices   []Slice
	Attached []Attached
}

// ProcessID is a process for as long as it lives: a PID may be used again, with
// another start time.
type ProcessID struct {
	// PID in the host's namespace.
	PID int
	// Start is in clock ticks since boot, as in /proc/PID/stat.
	Start uint64
}

// Container is where a process runs; both empty outside of any.
type Container struct {
	ID     string // as the container runtime gives it
	PodUID string
}

// OnGPU is a process that uses a GPU, as the driver says or the device files that
// it has open. One that uses several GPUs is listed for each.
type OnGPU struct {
	Process   ProcessID
	GPU       string // UUID
	Container Container
	// UsedBytes of the GPU's memory; 0: not known.
	UsedBytes uint64
	// BusyPercent of the time since the last sample, 0 to 100; negative: not known.
	BusyPercent int
	// Overlaps is that kernels of several processes run at once on the GPU, as with
	// MPS, so that times are estimates.
	Overlaps bool
	// Unequipped is that its container was made without the limiter: nothing of it is
	// mounted there. It matters for who is not attached.
	Unequipped bool
}

// Slice is a block slice that is held.
type Slice struct {
	ID  gpu.SliceID
	GPU string // UUID
	// Holder has an empty PodUID as long as it is not known, and an empty ID where
	// only the pod is known.
	Holder Container
	// MemoryBytes is the most that the slice's limit is ever to be; 0: none.
	MemoryBytes uint64
	// AllowedBytes of it are its limit now; 0: not known.
	AllowedBytes uint64
	// Leased is how long its container could have work on the GPU, in total: from when
	// the agent gave leases to when all under them was done, also by force.
	Leased time.Duration
	// Overdue is for how long the work of one goes on that was taken by force; 0: none.
	Overdue time.Duration
	// Damage counts how often the agent found the slice's page damaged. Nothing in
	// such a page is believed any more.
	Damage uint64
	// Locked counts how often the mode or the owner of the page's file was changed.
	// What is in it is as good as ever.
	Locked uint64
}

// held reports whether c holds the slice, as far as it is known.
func (s Slice) held(by Container) bool {
	if s.Holder.ID != "" && by.ID != "" {
		return s.Holder.ID == by.ID
	}
	return s.Holder.PodUID != "" && s.Holder.PodUID == by.PodUID
}

// Attached is a process that the limiter is attached to, with what its library
// says. One that uses several slices is listed for each.
type Attached struct {
	Process ProcessID
	Slice   gpu.SliceID
	Slot    int
	BuildID string
	// Ungated is that the library cannot hold back all of its launches.
	Ungated bool
	// InFlight is that it has work on the GPU that has not ended.
	InFlight bool

	CommittedBytes, PendingBytes, OverheadBytes, ManagedBytes uint64
	Busy                                                      time.Duration // total
	Launches                                                  uint64        // total
}
