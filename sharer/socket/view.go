// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// View is what a server knows at one moment. What comes from a page is what the
// container says.
type View struct {
	At      sharer.Instant
	Slices  []SliceView  // by ID
	Tenants []TenantView // by ID
}

// TenantView is a tenant's account.
type TenantView struct {
	sharer.Stat
	Slices []gpu.SliceID
	// Lease is the kind of the lease that it has now, wire.LeaseNone without.
	Lease wire.LeaseKind
	// Wants is that work waits for a lease.
	Wants bool
	// Undrained is how long in total it had leases with work in flight or about to
	// be, also after they were taken by force. Overdue is for how long it has one now
	// that was; 0: it has none.
	Undrained, Overdue time.Duration
}

// SliceView is a slice and its processes.
type SliceView struct {
	Slice
	Processes []Process // by slot
	Memory    Memory    // of all processes
	Work      Work      // of all processes, dead ones too
	// Damage counts how often what the page says was found damaged, Locked how often
	// the mode or the owner of its file was changed, and Rejected the packets and
	// connections that made no sense.
	Damage, Locked, Rejected uint64
	// Retired is that the slice is over and has processes left.
	Retired bool
	// ShortBytes is what the driver has refused its processes within the
	// guarantee, by what they say, and what they wait for.
	ShortBytes uint64
}

// Process is one that is attached to a slice.
type Process struct {
	Slice gpu.SliceID
	// Slot counts on from wire.Slots where the slice has lost its directory since it
	// attached.
	Slot int
	// HostPID is its PID in the agent's namespace, PID in its own.
	HostPID int
	PID     uint64
	// StartTime is in clock ticks since boot, as in /proc/PID/stat.
	StartTime uint64
	// Connected is that it has a connection now; without, it is known to be alive.
	Connected bool

	BuildID       string // of its library, in hex
	DriverVersion uint32
	// Hooks are the symbols that its library can take, Found those of them that
	// the driver has, Unknown driver symbols asked for that the library lacks.
	Hooks, Found, Unknown uint32
	Problems              uint32 // wire.Problem…
	// InFlight is that it has work on the GPU that has not ended, as it says.
	InFlight bool

	Memory Memory
	Work   Work
}

// Memory is a ledger, in bytes of device memory.
type Memory struct {
	Committed, Pending, Overhead uint64
	Managed                      uint64 // of Committed, can be demoted
	Host                         uint64 // pinned on the host
	Peak                         uint64
	Refused                      uint64 // allocations
}

// Total is what the slice's limit is held against.
func (m Memory) Total() uint64 { return sum(sum(m.Committed, m.Pending), m.Overhead) }

// Work is what was run.
type Work struct {
	Launches     uint64
	Busy, Waited time.Duration
	Waits        uint64        // launches that waited for a lease
	Longest      time.Duration // longest single command
}

func (m *Memory) add(n Memory) {
	m.Committed = sum(m.Committed, n.Committed)
	m.Pending = sum(m.Pending, n.Pending)
	m.Overhead = sum(m.Overhead, n.Overhead)
	m.Managed = sum(m.Managed, n.Managed)
	m.Host = sum(m.Host, n.Host)
	m.Peak = sum(m.Peak, n.Peak)
	m.Refused = sum(m.Refused, n.Refused)
}

func (w *Work) add(v Work) {
	w.Launches = sum(w.Launches, v.Launches)
	w.Busy = time.Duration(sum(uint64(w.Busy), uint64(v.Busy)))
	w.Waited = time.Duration(sum(uint64(w.Waited), uint64(v.Waited)))
	w.Waits = sum(w.Waits, v.Waits)
	w.Longest = max(w.Longest, v.Longest)
}

// most bounds what a container may claim, so that sums stay in range.
const most = 1 << 62

func sum(a, b uint64) uint64 { return min(min(a, most)+min(b, most), most) }

func memoryOf(s wire.Slot) Memory {
	m := Memory{}
	m.add(Memory{
		Committed: s.CommittedBytes, Pending: s.PendingBytes, Overhead: s.OverheadBytes, Managed: s.ManagedBytes,
		Host: s.HostBytes, Peak: s.PeakBytes, Refused: s.Refused,
	})
	return m
}

func workOf(s wire.Slot) Work {
	duration := func(ns uint64) time.Duration { return time.Duration(min(ns, most)) }
	return Work{
		Launches: min(s.Launches, most), Busy: duration(s.BusyNs), Waited: duration(s.WaitedNs),
		Waits: min(s.Waits, most), Longest: duration(s.LongestNs),
	}
}

// View returns the present state.
func (s *Server) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := View{At: s.config.Now()}
	for _, id := range slices.Sorted(maps.Keys(s.slices)) {
		if s.slices[id].lost > 0 {
			continue
		}
		all := s.instances(id)
		one := all[0].view()
		for _, lost := range all[1:] {
			one.merge(lost.view())
		}
		v.Slices = append(v.Slices, one)
	}
	for _, stat := range s.arbiter.Stats() {
		if t := s.tenants[stat.Tenant]; t != nil {
			v.Tenants = append(v.Tenants, t.view(v.At, stat))
		}
	}
	return v
}

// Processes lists all that are attached, by slice and slot.
func (v View) Processes() []Process {
	var all []Process
	for _, sl := range v.Slices {
		all = append(all, sl.Processes...)
	}
	return all
}

func (t *tenant) view(now sharer.Instant, stat sharer.Stat) TenantView {
	v := TenantView{Stat: stat, Wants: t.wants, Undrained: t.undrained(now), Overdue: t.overdue(now)}
	if t.lease != nil && t.lease.ended == 0 {
		v.Lease = t.lease.kind
	}
	for _, sl := range t.slices {
		if sl.lost == 0 {
			v.Slices = append(v.Slices, sl.ID)
		}
	}
	return v
}

func (sl *slice) view() SliceView {
	v := SliceView{Slice: sl.Slice, Work: sl.past, Damage: sl.damage, Locked: sl.locked, Rejected: sl.rejected, Retired: sl.retired}
	now := sl.server.config.Now()
	for _, i := range slices.Sorted(maps.Keys(sl.members)) {
		m := sl.members[i]
		v.ShortBytes = sum(v.ShortBytes, m.short.at(now))
		slot, err := sl.dir.page.slot(i)
		if err != nil {
			slot = wire.Slot{} // what it says cannot be read; it is attached
		}
		p := m.view(slot)
		v.Processes = append(v.Processes, p)
		v.Memory.add(p.Memory)
		v.Work.add(p.Work)
	}
	return v
}

func (m *member) view(s wire.Slot) Process {
	return Process{
		Slice: m.slice.ID, Slot: m.slice.lost*wire.Slots + m.slot, HostPID: m.peer.pid, PID: m.id.owner, StartTime: m.id.start,
		Connected: m.conn != nil, BuildID: hex.EncodeToString(s.BuildID[:]), DriverVersion: s.DriverVersion,
		Hooks: s.Hooks, Found: s.Found, Unknown: s.Unknown, Problems: s.Problems,
		InFlight: s.Inflight != 0,
		Memory:   memoryOf(s), Work: workOf(s),
	}
}
