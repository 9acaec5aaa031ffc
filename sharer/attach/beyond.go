// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
)

// takenTime is how long a slice must have more memory than it may have now before
// what nobody accounts for in it is sure to be taken. A limit that falls is obeyed
// sooner, or its ladder ends the borrower.
const takenTime = 30 * time.Second

// noteBeyond remembers since when processes are of slices that have clearly more
// memory, as the driver says, than they may have now. Within that, memory that
// nobody accounts for harms nobody: a program may ask the driver for a large heap
// or stack, of which its library does not know.
func (a *Auditor) noteBeyond(ix index) {
	now := map[ledgerKey]sharer.Instant{}
	for _, p := range ix.OnGPU {
		pl := ix.place(p)
		if pl.verdict != isFine || !ix.beyond(ix.slices[pl.slice], a.config.Tolerance) {
			continue
		}
		key := ledgerKey{p.Process, p.GPU}
		now[key] = ix.At
		if first, seen := a.beyond[key]; seen {
			now[key] = first
		}
	}
	a.beyond = now
}

// memoryIsTaken reports whether a process has been beyond what its slice may have
// for long enough.
func (a *Auditor) memoryIsTaken(ix index, p OnGPU) bool {
	first, is := a.beyond[ledgerKey{p.Process, p.GPU}]
	return is && ix.At.Sub(first) >= takenTime
}

// beyond reports whether the processes of a slice, and of the others of its holder
// on the GPU, have more than they may have now, by more than the margin.
func (ix index) beyond(one Slice, margin uint64) bool {
	allowed, mine := margin, map[gpu.SliceID]bool{}
	for _, sl := range ix.Slices {
		if sl.GPU != one.GPU || (sl.ID != one.ID && (one.Holder == Container{} || sl.Holder != one.Holder)) {
			continue
		}
		if sl.AllowedBytes == 0 {
			return false
		}
		allowed += sl.AllowedBytes
		mine[sl.ID] = true
	}
	used := uint64(0)
	for _, p := range ix.OnGPU {
		if p.GPU == one.GPU && mine[ix.place(p).slice] {
			used += p.UsedBytes
		}
	}
	return used > allowed
}
