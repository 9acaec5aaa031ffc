// SPDX-License-Identifier: Apache-2.0

package gpu

// SliceID names a slice on its node. It is opaque, at most MaxSliceIDLength
// characters of [a-z0-9-], and stays the same over restarts, reboots and the
// re-creation of the hardware behind it.
type SliceID string

// MaxSliceIDLength is the longest device ID that the kubelet's device plugin
// API allows (v1beta1, Device.ID).
const MaxSliceIDLength = 63

// ResourcePrefix stands before a set's name in its Kubernetes resource name.
const ResourcePrefix = "aipub.io/set-"

// ResourceName is the extended resource under which a set is advertised.
func ResourceName(set string) string { return ResourcePrefix + set }

// Kind says what the GPU part of a slice is.
type Kind string

// The kinds of slices.
const (
	KindWhole Kind = "Whole" // one or several entire GPUs
	KindMIG   Kind = "MIG"   // one MIG instance
	KindBlock Kind = "Block" // a share of one GPU
	KindCPU   Kind = "CPU"   // no GPU
)

// Slice is one unit that can be handed to one container: a member of a set at
// a fixed place on the node. It is a plan; Status says what is true of it.
type Slice struct {
	ID   SliceID
	Set  string
	Kind Kind
	// GPUs are the UUIDs of the GPUs it lives on: one, several for a
	// multi-GPU set, none for KindCPU.
	GPUs []string
	// MIG is set for KindMIG only.
	MIG *MIGTarget
	// Block is set for KindBlock only.
	Block *Block
	// CPUMilli and MemoryBytes are the set's share of the host.
	CPUMilli, MemoryBytes int64
	// NUMANodes are the nodes of its GPUs, or for KindCPU the one that its CPU
	// and memory are taken from, ascending; empty when unknown or several.
	NUMANodes []int
	// Uses are the counters that holding it takes from.
	Uses []Use
}

// MIGTarget is the instance that a slice needs: which profile, and where.
type MIGTarget struct {
	Profile   Profile
	Placement Placement
}

// Block is a share of one GPU.
type Block struct {
	// Percent of the GPU's compute, 1 to 100.
	Percent int
	// MemoryBytes of device memory that the holder may allocate.
	MemoryBytes int64
	// Lend allows what is idle of this slice to be used by others, Borrow
	// allows its holder to use what others leave idle.
	Lend, Borrow bool
	// MaxPercent is the most of the GPU's compute that the holder may use with
	// what it borrows, Percent to 100.
	MaxPercent int
	// MaxMemoryBytes is the most device memory that the holder may have with what
	// it borrows; MemoryBytes or less: it borrows none.
	MaxMemoryBytes int64
}

// Counter names an amount on the node that slices share, for example the
// blocks of one GPU. Two slices overlap when together they exceed a counter.
type Counter string

// Use is how much of a counter one slice takes while it is held.
type Use struct {
	Counter Counter
	Amount  int64
}

// Layout is the whole plan of a node: which slices exist and the counters that
// say which of them can be held together. It is free of the transport: the
// device plugin shows it as device IDs, DRA as shared counters.
type Layout struct {
	// Modes is the mode of each GPU, by UUID. A GPU whose policy rule cannot be
	// carried out is absent: it is left as it is.
	Modes map[string]Mode
	// Totals is the capacity of each counter.
	Totals map[Counter]int64
	// Slices are ordered by set, then GPU index, then slot.
	Slices []Slice
}

// Sets returns the names of the sets in the layout, each once, in order of
// first appearance.
func (l Layout) Sets() []string {
	var names []string
	seen := map[string]bool{}
	for _, s := range l.Slices {
		if !seen[s.Set] {
			seen[s.Set] = true
			names = append(names, s.Set)
		}
	}
	return names
}

// Find returns the slice with the given ID.
func (l Layout) Find(id SliceID) (Slice, bool) {
	for _, s := range l.Slices {
		if s.ID == id {
			return s, true
		}
	}
	return Slice{}, false
}

// Remaining returns what is left of every counter when the given slices are
// held. An amount is negative when they exceed the counter. IDs that the layout
// does not have count for nothing.
func (l Layout) Remaining(held map[SliceID]bool) map[Counter]int64 {
	left := make(map[Counter]int64, len(l.Totals))
	for c, total := range l.Totals {
		left[c] = total
	}
	for _, s := range l.Slices {
		if held[s.ID] {
			for _, u := range s.Uses {
				left[u.Counter] -= u.Amount
			}
		}
	}
	return left
}

// Fits reports whether a slice can be taken from what is left of the counters,
// and if not, the first counter that is short.
func (s Slice) Fits(left map[Counter]int64) (short Counter, ok bool) {
	for _, u := range s.Uses {
		if left[u.Counter] < u.Amount {
			return u.Counter, false
		}
	}
	return "", true
}
