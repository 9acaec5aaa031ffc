// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"fmt"
	"sync/atomic"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// Allowance is what changes often of what a slice may do with memory.
type Allowance struct {
	// MemoryBytes and Reclaim are those of Slice.
	MemoryBytes uint64
	Reclaim     wire.Reclaim
	// Coming is until when an allocation within the guarantee that the driver
	// refused is worth another try, since others are giving memory back; 0: it is
	// not.
	Coming sharer.Instant
}

// SetMemory changes a slice's allowance, and nothing else of what Set said. It
// fails when there is no such slice.
func (s *Server) SetMemory(id gpu.SliceID, a Allowance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sl := s.slices[id]; sl == nil || sl.retired {
		return fmt.Errorf("set memory: no slice %q", id)
	}
	for _, sl := range s.instances(id) {
		sl.MemoryBytes, sl.Reclaim = a.MemoryBytes, a.Reclaim
		sl.dir.grant.allow(a)
	}
	s.divide(id)
	return nil
}

// allow writes an allowance. Only what is asked of the processes comes with a new
// turn, as in setLimits.
func (g grant) allow(a Allowance) {
	atomic.StoreUint64(&g.w.MemoryBytes, a.MemoryBytes)
	atomic.StoreUint64(&g.w.ComingNs, nanoseconds(a.Coming))
	if atomic.SwapUint32(&g.w.Reclaim, uint32(a.Reclaim)) != uint32(a.Reclaim) {
		g.nextTurn()
	}
}

// limitMemory changes the limit alone.
func (g grant) limitMemory(bytes uint64) { atomic.StoreUint64(&g.w.MemoryBytes, bytes) }

// shortTime is how long what a process said of being short counts. It says it
// again while it waits.
const shortTime = 3 * time.Second

// shortage is memory that a process waits for.
type shortage struct {
	bytes uint64
	until sharer.Instant
}

func (m *member) isShort(now sharer.Instant, bytes uint64) {
	news := (m.short.at(now) == 0) != (bytes == 0)
	m.short = shortage{min(bytes, most), now.Add(shortTime)}
	if news {
		m.slice.server.notify()
	}
}

func (s shortage) at(now sharer.Instant) uint64 {
	if now >= s.until {
		return 0
	}
	return s.bytes
}
