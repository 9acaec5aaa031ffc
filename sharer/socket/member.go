// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// slice is a Slice with its directory, its socket and its processes.
type slice struct {
	Slice
	server   *Server
	dir      *directory
	file     fileID // of the page
	tenant   *tenant
	listener token
	door     int  // connections that may still be let in
	deaf     bool // the listener is paused, for want of file descriptors
	retired  bool // no longer in the set; goes when its last process is dead
	// lost counts up from 1 what has lost its directory, with the latest last; 0: it
	// has it. Goes when its last process is dead.
	lost     int
	said     complaints
	broken   complaint
	members  map[int]*member
	conns    map[*conn]struct{}
	past     Work   // of processes that are dead
	damage   uint64 // how often its page's content was put right
	locked   uint64 // how often who may open it was
	rejected uint64
}

// member is a process that is known to own its slot.
type member struct {
	slice *slice
	slot  int
	id    identity
	peer  peer
	death token
	conn  *conn          // nil: it has lost its connection, or had none yet
	done  sharer.Instant // its Closing under this lease: when it will be done; 0: none
	// returned is that it has given back its part of the open lease.
	returned bool
	short    shortage
}

// join makes the process behind peer the owner of a slot. It takes over peer. A
// process has one slot in a slice: an older one is from before it called exec.
func (s *Server) join(sl *slice, slot int, id identity, p peer) (*member, error) {
	if m := sl.members[slot]; m != nil {
		if m.id == id {
			p.close()
			return m, nil
		}
		s.part(m)
	}
	if m := sl.memberOf(p.pid); m != nil {
		s.part(m)
	}
	m := &member{slice: sl, slot: slot, id: id, peer: p}
	death, err := s.poll.add(p.pidfd, func(bool) { s.died(m) })
	if err != nil {
		p.close()
		return nil, err
	}
	m.death = death
	sl.members[slot] = m
	s.notify()
	return m, nil
}

// memberOf returns the membership of a process, or nil.
func (sl *slice) memberOf(pid int) *member {
	for _, m := range sl.members {
		if m.peer.pid == pid {
			return m
		}
	}
	return nil
}

// part ends a membership: the slot is cleared, what it counted is kept, and the
// tenant's lease looked after.
func (s *Server) part(m *member) {
	sl := m.slice
	if slot, err := sl.dir.page.slot(m.slot); err == nil && slot.Owner == m.id.owner {
		sl.past.add(workOf(slot))
	}
	_ = sl.dir.page.free(m.slot, m.id)
	delete(sl.members, m.slot)
	if m.conn != nil {
		m.conn.close()
	}
	m.release()
	s.notify()
}

// died is called when the kernel says that the process is dead.
func (s *Server) died(m *member) {
	now := s.config.Now()
	t := m.slice.tenant
	s.part(m)
	if t == nil {
		return
	}
	if !t.empty() {
		if t.lease != nil {
			s.carryOut(now, s.look(now, t))
		}
		return
	}
	if t.lease != nil && t.lease.ended == 0 {
		t.publish(wire.LeaseNone, 0)
	}
	t.drop(now)
	t.wants = false
	delete(s.leases, t)
	s.carryOut(now, s.arbiter.Gone(now, t.id))
}

// release stops watching the process.
func (m *member) release() { m.slice.server.poll.closeFD(m.death) }

// Limits of what a container may occupy.
const (
	// connLimit bounds the connections of a slice: one for each slot, and some
	// that are about to say Hello.
	connLimit = wire.Slots + 64
	// doorRate and doorBurst bound the connections that are let in: a container
	// that connects without end must not keep the agent busy. All processes that a
	// slice can have may come at once.
	doorRate  = 200 // a second
	doorBurst = connLimit
	// greetTime is how long a connection may take to say Hello.
	greetTime = 2 * time.Second
	// packetRate and packetBurst bound the packets of one connection. A process
	// needs three for a lease, and a lease lasts 1 ms at least.
	packetRate  = 8000 // a second
	packetBurst = 512
)

// refresh gives the connections of a slice their budget for the time until the
// next call, and closes those that never said Hello.
func (sl *slice) refresh(now sharer.Instant) {
	poll := sl.server.poll
	sl.door = min(sl.door+int(doorRate*sl.server.config.Heartbeat/time.Second), doorBurst)
	if sl.deaf {
		sl.deaf = false
		poll.pause(sl.listener, false)
	}
	share := int(packetRate * sl.server.config.Heartbeat / time.Second)
	for c := range sl.conns {
		if c.member == nil && now >= c.greetBy {
			c.close()
			continue
		}
		c.budget = min(c.budget+share, packetBurst)
		if c.paused && c.budget > 0 {
			c.paused = false
			poll.pause(c.reg, false)
		}
	}
}

// stop closes the socket and all connections.
func (sl *slice) stop() {
	if sl.listener != (token{}) {
		sl.server.poll.closeFD(sl.listener)
		sl.listener = token{}
	}
	for c := range sl.conns {
		c.close()
	}
}

// reply sends a packet and never waits: a process that does not read its
// answers has none.
func reply(fd int, m wire.Message) error {
	m.Layout = wire.Layout
	return unix.Sendto(fd, m.Append(make([]byte, 0, wire.MessageSize)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
}
