// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// Reason says what is wrong with a process or a slice.
type Reason string

// The reasons of findings.
const (
	// NotAttached is a process of a slice's container that uses the slice's GPU
	// without the limiter.
	NotAttached Reason = "NotAttached"
	// WrongSlice is a process that uses a GPU on which its container holds
	// nothing, or is attached to a slice of another container.
	WrongSlice Reason = "WrongSlice"
	// Foreign is a process on a shared GPU whose container holds no slice at all,
	// or that is in no container.
	Foreign Reason = "Foreign"
	// StaleBuild is a process whose library is none of those that this agent
	// knows.
	StaleBuild Reason = "StaleBuild"
	// Ungated is a process with launches that the library cannot hold back.
	Ungated Reason = "Ungated"
	// OverMemory is a slice whose processes use more of the GPU's memory than its
	// limit, as the driver says.
	OverMemory Reason = "OverMemory"
	// UnaccountedMemory is a process that uses more memory than its ledger and
	// contexts explain.
	UnaccountedMemory Reason = "UnaccountedMemory"
	// UnaccountedTime is a process that keeps the GPU busy for longer than it
	// says.
	UnaccountedTime Reason = "UnaccountedTime"
	// DamagedPage is a slice whose container writes nonsense into the page that it
	// shares with the agent, makes its file longer or shorter, or changes its mode or
	// owner.
	DamagedPage Reason = "DamagedPage"
)

// Finding is something wrong that has lasted for the grace.
type Finding struct {
	Reason Reason
	// Slice that is concerned; empty for Foreign.
	Slice gpu.SliceID
	GPU   string
	// Process is, for OverMemory, the one of the slice that uses most, and empty for
	// DamagedPage.
	Process   ProcessID
	Container Container
	// Unsure is that an honest program may look like this for a while: it is
	// reported, and not treated. It is for UnaccountedTime and UnaccountedMemory.
	Unsure bool
	// Since is when it was first seen.
	Since sharer.Instant
	// Message is a sentence for the user, with what to do.
	Message string
}

// unequipped is the detail of NotAttached where the container never had the
// limiter.
const unequipped = "unequipped"

func message(f Finding, detail string) string {
	pid := f.Process.PID
	switch f.Reason {
	case NotAttached:
		if detail == unequipped {
			return fmt.Sprintf("process %d uses %s without the limiter, since its container began while the limiter was off on this node; start the container anew: delete the pod, or let its controller make another", pid, f.GPU)
		}
		return fmt.Sprintf("process %d uses %s without the limiter; use an image with glibc 2.17 or later, a dynamically linked program, and leave /etc/ld.so.preload and LD_PRELOAD as they are", pid, f.GPU)
	case WrongSlice:
		return fmt.Sprintf("process %d uses %s, %s; use only the GPU that the container was given", pid, f.GPU, detail)
	case Foreign:
		return fmt.Sprintf("process %d uses the shared GPU %s and belongs to no container with a slice of it; ask for a set, or run it on a GPU that is not shared", pid, f.GPU)
	case StaleBuild:
		return fmt.Sprintf("process %d runs with limiter build %q, which this agent does not know; restart the container", pid, detail)
	case Ungated:
		return fmt.Sprintf("process %d launches work from the device, which cannot be held back; it may take more than its share of %s", pid, f.GPU)
	case OverMemory:
		return fmt.Sprintf("slice %s uses %s of %s", f.Slice, detail, f.GPU)
	case UnaccountedMemory:
		return fmt.Sprintf("process %d uses %s of %s", pid, detail, f.GPU)
	case DamagedPage:
		return fmt.Sprintf("the container has %s; it shares that with the agent, and it is put right each time; end the program that does it", detail)
	case UnaccountedTime:
		return fmt.Sprintf("process %d kept %s busy for %s", pid, f.GPU, detail)
	}
	return string(f.Reason)
}
