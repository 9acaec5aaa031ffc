// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// grant is a slice's grant in memory that the container maps read-only. This
// process is its one writer.
type grant struct{ w *wire.Grant }

// timing is what all grants of a node have in common.
type timing struct{ window, linger, stale, period time.Duration }

// window is a place in the timetable, from the start of each period.
type window struct{ offset, length time.Duration }

// setIdentity writes what never changes, the magic number last: a reader that
// sees it sees the rest.
func (g grant) setIdentity(s Slice) error {
	uuid, err := parseUUID(s.GPU)
	if err != nil {
		return err
	}
	g.w.Layout, g.w.Size = wire.Layout, uint32(wire.GrantSize)
	g.w.GPUUUID = uuid
	g.w.Slice, g.w.GPUName = [64]byte{}, [64]byte{}
	copy(g.w.Slice[:63], s.ID)
	copy(g.w.GPUName[:63], s.GPU)
	atomic.StoreUint64(&g.w.Magic, wire.GrantMagic)
	return nil
}

// setLimits writes what the slice is allowed. Processes look at it when they need
// it. Only what those should see who wait, or who have no reason to look, comes
// with a new turn: that costs whoever has the lease a pause.
func (g grant) setLimits(s Slice, t timing, w window) {
	put32 := func(p *uint32, v uint32) bool { return atomic.SwapUint32(p, v) != v }
	put64 := func(p *uint64, v uint64) { atomic.StoreUint64(p, v) }
	put32(&g.w.GuaranteePermille, uint32(s.Permille))
	put32(&g.w.MaxPermille, uint32(s.maxPermille()))
	put64(&g.w.MemoryBytes, s.MemoryBytes)
	put64(&g.w.GuaranteedBytes, s.GuaranteedBytes)
	put64(&g.w.ContextBytes, s.ContextBytes)
	put64(&g.w.WindowNs, uint64(t.window))
	put64(&g.w.LingerNs, uint64(t.linger))
	put64(&g.w.StaleNs, uint64(t.stale))
	put64(&g.w.PeriodNs, uint64(t.period))
	put64(&g.w.OffsetNs, uint64(w.offset))
	put64(&g.w.LengthNs, uint64(w.length))
	reclaim := put32(&g.w.Reclaim, uint32(s.Reclaim))
	if flags := put32(&g.w.Flags, s.flags()); flags || reclaim {
		g.nextTurn()
	}
}

// lease publishes a lease, or with wire.LeaseNone its end, under a new turn.
//
// A process that reads the new words under the old turn may store the old turn
// as busy. It is seen all the same: a tenant has drained only when no busy word
// is left, of whatever turn.
func (g grant) lease(kind wire.LeaseKind, until sharer.Instant) {
	if kind == wire.LeaseNone {
		atomic.StoreUint32(&g.w.LeaseKind, uint32(kind))
		atomic.StoreUint64(&g.w.UntilNs, 0)
	} else {
		atomic.StoreUint64(&g.w.UntilNs, nanoseconds(until))
		atomic.StoreUint32(&g.w.LeaseKind, uint32(kind))
	}
	g.nextTurn()
}

// extend moves the end of the lease. The turn stays.
func (g grant) extend(until sharer.Instant) { atomic.StoreUint64(&g.w.UntilNs, nanoseconds(until)) }

// beat says that the agent is alive.
func (g grant) beat(now sharer.Instant) { atomic.StoreUint64(&g.w.HeartbeatNs, nanoseconds(now)) }

// silence says that it is not: the processes follow the timetable from now on.
func (g grant) silence() {
	atomic.StoreUint64(&g.w.HeartbeatNs, 0)
	g.lease(wire.LeaseNone, 0)
}

func (g grant) turn() uint32 { return atomic.LoadUint32(&g.w.Turn) }

// nextTurn wakes all who wait for the turn to change. Turn 0 is skipped: as a
// busy word it means that nothing is in flight.
func (g grant) nextTurn() {
	if atomic.AddUint32(&g.w.Turn, 1) == 0 {
		atomic.AddUint32(&g.w.Turn, 1)
	}
	futexWake(&g.w.Turn)
}

func nanoseconds(t sharer.Instant) uint64 { return uint64(max(t, 0)) }

const futexWakeOp = 1 // FUTEX_WAKE of linux/futex.h, between processes

// futexWake wakes all processes that wait on a word of shared memory. It cannot
// fail on an address that is mapped and aligned.
func futexWake(word *uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWakeOp, math.MaxInt32, 0, 0, 0)
}
