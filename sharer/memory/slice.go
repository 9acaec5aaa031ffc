// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// Sample is one GPU at one moment. All amounts are bytes of device memory.
type Sample struct {
	At sharer.Instant
	// Usable is what slices can have of the GPU together.
	Usable uint64
	// Slices are those that are held, each once, in any order.
	Slices []Slice
	// CanCheckpoint says that the driver can move a process's memory to the host.
	CanCheckpoint bool
	// Grace takes the place of Config.Grace; 0 does not.
	Grace time.Duration
}

// Slice is a slice that is held, or whose last processes are about to end.
type Slice struct {
	ID gpu.SliceID
	// Guaranteed is the slice's own.
	Guaranteed uint64
	// Max is the most that it may have with what it borrows; Guaranteed or less:
	// it borrows nothing.
	Max uint64
	// Used is what its processes have, by the ledger.
	Used uint64
	// Wanted is what the driver has refused it, although it is within the
	// guarantee; 0 when nobody waits for memory.
	Wanted uint64
	// Residence says where the memory is.
	Residence Residence
}

// Residence says whether a slice's memory is on the GPU. Whoever carries out a
// Plan keeps it.
type Residence int

// The places. Fixed is resident, and its processes cannot be checkpointed.
const (
	Resident  Residence = iota
	Leaving             // a checkpoint is being taken
	Parked              // checkpointed: nothing is on the GPU
	Returning           // is being restored
	Fixed
)

func (s Slice) borrows() bool { return s.Max > s.Guaranteed }

// within reports whether what it waits for is its own.
func (s Slice) within() bool {
	return s.Wanted > 0 && s.Used <= s.Guaranteed && s.Wanted <= s.Guaranteed-s.Used
}

// Plan is what holds until the next Sample.
type Plan struct {
	// Limits are those of all slices of the Sample, in its order.
	Limits []Limit
	// Actions are what is new, in the order in which it is to be done.
	Actions []Action
	// Coming are the slices that wait for memory that is being taken back.
	Coming []gpu.SliceID
}

// Limit is what a slice's processes may have and are asked for.
type Limit struct {
	Slice gpu.SliceID
	// Bytes is the most that they may have now, never less than the guarantee.
	Bytes uint64
	// Step is where on the ladder it is.
	Step Step
}

// Step is one of the ladder, or off it.
type Step int

// The steps, gentlest first.
const (
	None       Step = iota
	Refuse          // allocate nothing more; what is there stays
	Trim            // give back what pools hold in reserve
	Demote          // move managed memory to the host
	Checkpoint      // stop the processes, with all their memory on the host
	End             // kill the processes
)

// Action is a step that a slice takes now, or what ends it.
type Action struct {
	At    sharer.Instant
	Slice gpu.SliceID
	Kind  Kind
	// Reason says why, For for whom; For is empty where it is for the slice itself.
	Reason Reason
	For    gpu.SliceID
	// Bytes is what is to be given back, or restored.
	Bytes uint64
}

// Kind is the kind of an Action, as in events and metrics.
type Kind string

// The kinds, in the ladder's order. Refused, Trimmed and Demoted are done with the
// Limit; the others are the caller's to carry out.
const (
	Refused      Kind = "BorrowedMemoryRefused"
	Trimmed      Kind = "BorrowedMemoryTrimmed"
	Demoted      Kind = "BorrowedMemoryDemoted"
	Checkpointed Kind = "BorrowerCheckpointed"
	Ended        Kind = "BorrowerEnded"
	Restored     Kind = "BorrowerRestored"
	Released     Kind = "BorrowedMemoryReleased" // the shortage is over
)

// Reason says why an Action is taken.
type Reason string

// The reasons.
const (
	OwnerShort Reason = "OwnerShort"  // an owner was refused memory within its guarantee
	NewSlice   Reason = "NewSlice"    // a new slice's guarantee is not free
	Room       Reason = "Room"        // there is room again
	GaveBack   Reason = "GaveBack"    // the slice gave back enough
	NoLonger   Reason = "NoneIsShort" // nobody is short any more
)
