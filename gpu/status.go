// SPDX-License-Identifier: Apache-2.0

package gpu

import "time"

// State says whether a slice can be handed out now, and if not, why not.
type State string

const (
	// StateFree says that nobody holds it and it can be taken.
	StateFree State = "Free"
	// StateHeld says that a container holds it.
	StateHeld State = "Held"
	// StateBlocked says that what is held of other slices leaves too little for it.
	StateBlocked State = "Blocked"
	// StateUnhealthy says that its hardware is not fit for use.
	StateUnhealthy State = "Unhealthy"
	// StatePreparing says that its hardware does not exist yet.
	StatePreparing State = "Preparing"
	// StateRetired says that the layout no longer has it but it is still held; it
	// disappears when its holder ends.
	StateRetired State = "Retired"
)

// Holder is the container that has a slice.
type Holder struct {
	Namespace, Pod, Container string
	// PodUID is empty where the source does not tell it (PodResources).
	PodUID string
}

// IsZero reports whether the holder is not known yet: the kubelet names a
// device in Allocate, but not for whom.
func (h Holder) IsZero() bool { return h == Holder{} }

// Health is the fitness of a piece of hardware.
type Health struct {
	// OK is false while it must not be handed out.
	OK bool
	// Reason is a short CamelCase word, such as "XidCritical" or "DeviceLost";
	// empty when OK.
	Reason string
	// Message is a sentence for people.
	Message string
}

// Status is one slice at one moment.
type Status struct {
	Slice  Slice
	State  State
	Health Health
	// Holder is set in StateHeld and StateRetired, when it is known.
	Holder Holder
	// Since is when the slice entered its state.
	Since time.Time
	// BlockedBy names the counter that is short in StateBlocked.
	BlockedBy Counter
	// Instance is the hardware behind a MIG slice; nil until it exists.
	Instance *Instance
}

// Available reports whether the kubelet may be told that the slice is healthy:
// it is free, or already belongs to somebody. A held slice stays available,
// because the kubelet refuses a pod for good when a device that it has given
// away is no longer listed as healthy after a restart.
func (s Status) Available() bool {
	switch s.State {
	case StateFree:
		return true
	case StateHeld, StateRetired:
		return s.Health.OK
	default:
		return false
	}
}

// Snapshot is a node's slices at one moment.
type Snapshot struct {
	// Version grows by at least one with every change.
	Version uint64
	// Slices are in the layout's order, followed by retired ones.
	Slices []Status
	// GPUs is the health of each GPU, by UUID.
	GPUs map[string]Health
	// Totals is the capacity of each counter and Left what is not held of it.
	// Left is negative only where the kubelet was seen to have given away more
	// than there is.
	Totals, Left map[Counter]int64
	// At is when the node came into this state.
	At time.Time
}

// Count is how many slices of a set exist, can be taken now, and are held.
type Count struct {
	Total, Free, Held int
}

// Count sums up the slices of one set.
func (s Snapshot) Count(set string) Count {
	var n Count
	for _, st := range s.Slices {
		if st.Slice.Set != set {
			continue
		}
		if st.State != StateRetired {
			n.Total++
		}
		switch st.State {
		case StateFree:
			n.Free++
		case StateHeld, StateRetired:
			n.Held++
		default:
		}
	}
	return n
}
