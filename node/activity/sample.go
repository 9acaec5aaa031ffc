// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	"aipub.io/aipub/gpu"
)

// Gap is how long a signal may go unseen without the watch beginning anew.
const Gap = time.Minute

// Signal is something that shows that a container works.
type Signal string

// The values of Signal, as in api.SliceActivity.Unknown.
const (
	GPU      Signal = "gpu"
	CPU      Signal = "cpu"
	Terminal Signal = "terminal"
)

// signals are all, in the order in which they are told.
var signals = []Signal{GPU, CPU, Terminal}

// Sample is what was seen of the held slices of a node at one moment.
type Sample struct {
	// Boot is the time since the machine started, asleep or not; it never steps
	// and grows from sample to sample. Wall is the node's clock at that moment.
	Boot time.Duration
	Wall time.Time
	// Slices are all that are held and whose holder is known.
	Slices []Slice
}

// Slice is one of them. Of its signals nil says that it was not seen.
type Slice struct {
	ID     gpu.SliceID
	Holder gpu.Holder
	// HasGPU is false for a set without one: there is nothing to see then.
	HasGPU bool
	// GPUPeak is the busiest moment since the last sample, in percent of the
	// time; for a GPU that is the holder's alone. GPUTime is what a block slice
	// used of its GPU.
	GPUPeak *float64
	GPUTime *Usage
	CPUTime *Usage
	// Terminals is empty, not nil, where there are none.
	Terminals Terminals
}

// Usage is a total of time that only grows, of one thing: a counter that begins
// anew has another Of, or a smaller Total.
type Usage struct {
	Of    string
	Total time.Duration
}

// Terminals are a container's terminals by name.
type Terminals map[string]Stamp

// Stamp is when a terminal last had output and input, in nanoseconds of the
// node's clock. It is compared with what it was, never with a time.
type Stamp struct {
	Output, Input int64
}

// Thresholds is what is called idle: at most so many percent, of one CPU's time
// and of one GPU's.
type Thresholds struct {
	CPUPercent, GPUPercent float64
}
