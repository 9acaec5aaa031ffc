// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// conn is a connection to a slice's socket.
type conn struct {
	slice   *slice
	reg     token
	member  *member // nil before Hello
	greetBy sharer.Instant
	budget  int // packets that may still be read
	paused  bool
}

// listen makes the slice's socket. It takes the place of one that another agent
// has left, in one step, and is connectable from then on.
func (sl *slice) listen() error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("listen for slice %s: %w", sl.ID, err)
	}
	path := filepath.Join(sl.dir.path, wire.SocketFile)
	if err := bind(fd, path); err != nil {
		return fmt.Errorf("listen for slice %s: %w", sl.ID, errors.Join(err, unix.Close(fd)))
	}
	sl.listener, err = sl.server.poll.add(fd, func(bool) { sl.accept() })
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	return nil
}

func bind(fd int, path string) error {
	making := path + unfinished
	if err := os.Remove(making); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: making}); err != nil {
		return fmt.Errorf("bind %s: %w", making, err)
	}
	if err := unix.Listen(fd, connLimit); err != nil {
		return err
	}
	if err := os.Chmod(making, socketMode); err != nil {
		return err
	}
	return os.Rename(making, path)
}

// accept lets one connection in: one a round, so that a container that connects
// without end does not keep the others waiting.
func (sl *slice) accept() {
	s := sl.server
	if sl.door--; sl.door < 0 {
		sl.deaf = true
		s.poll.pause(sl.listener, true)
		return
	}
	fd, _, err := unix.Accept4(int(sl.listener.fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM) {
		// The connection stays in the queue. Listening on would be a busy loop.
		sl.deaf = true
		s.poll.pause(sl.listener, true)
		s.complain(&sl.said.refused, "cannot accept a process for now", "slice", sl.ID, "err", err)
		return
	}
	if err != nil {
		return // it is gone again
	}
	if len(sl.conns) >= connLimit {
		_ = reply(fd, wire.Message{Type: wire.Refused, A: uint64(wire.RefusedFull)})
		_ = unix.Close(fd)
		sl.rejected++
		return
	}
	c := &conn{slice: sl, greetBy: s.config.Now().Add(greetTime), budget: packetBurst}
	if c.reg, err = s.poll.add(fd, c.ready); err != nil {
		_ = unix.Close(fd)
		return
	}
	sl.conns[c] = struct{}{}
}

// ready reads one packet.
func (c *conn) ready(hangup bool) {
	if c.paused {
		if hangup {
			c.close()
		}
		return
	}
	var b [wire.MessageSize + 1]byte // one more: a longer packet is seen to be longer
	n, err := unix.Read(int(c.reg.fd), b[:])
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if err != nil || n == 0 {
		c.close()
		return
	}
	c.budget--
	if c.budget <= 0 {
		c.paused = true
		c.slice.server.poll.pause(c.reg, true)
	}
	m, err := wire.Parse(b[:n])
	switch {
	case err != nil && n == wire.MessageSize:
		c.refuse(wire.RefusedLayout)
	case err != nil:
		c.slice.rejected++
		c.close()
	case c.member == nil:
		c.greet(m)
	default:
		c.hear(m)
	}
}

func (c *conn) refuse(why wire.Refusal) {
	c.slice.rejected++
	_ = reply(int(c.reg.fd), wire.Message{Type: wire.Refused, A: uint64(why)})
	c.close()
}

// close ends the connection. Its process stays a member.
func (c *conn) close() {
	if c.member != nil && c.member.conn == c {
		c.member.conn = nil
	}
	delete(c.slice.conns, c)
	c.slice.server.poll.closeFD(c.reg)
}

// greet handles the first packet, which must be a Hello of the slot's owner.
func (c *conn) greet(m wire.Message) {
	sl := c.slice
	if m.Type != wire.Hello || m.Slot >= wire.Slots {
		c.refuse(wire.RefusedIdentity)
		return
	}
	p, id, err := sl.server.verify(sl, int(c.reg.fd), m)
	if errors.Is(err, errImpostor) {
		sl.server.complain(&sl.said.impostor, "refused a process", "slice", sl.ID, "err", err)
		c.refuse(wire.RefusedIdentity)
		return
	}
	if err != nil {
		// Who it is could not be found out. It tries again.
		sl.server.complain(&sl.said.unverified, "could not verify a process", "slice", sl.ID, "err", err)
		c.close()
		return
	}
	mem, err := sl.server.join(sl, int(m.Slot), id, p)
	if err != nil {
		c.close()
		return
	}
	if mem.conn != nil {
		mem.conn.close()
	}
	mem.conn, c.member = c, mem
	if reply(int(c.reg.fd), wire.Message{Type: wire.Welcome, Slot: m.Slot}) != nil {
		c.close()
	}
}

// errImpostor is that a process is not the one that it says.
var errImpostor = errors.New("not the process that it says")

// verify checks that the peer is the process that its Hello and its slot name.
func (s *Server) verify(sl *slice, fd int, m wire.Message) (peer, identity, error) {
	p, err := peerOf(fd)
	if err != nil {
		return peer{}, identity{}, err
	}
	id, err := s.proc.self(p.pid)
	if err == nil {
		err = checkHello(sl, id, m)
	}
	if err == nil && p.dead() {
		err = errors.New("the process is dead")
	}
	if err != nil {
		p.close()
		return peer{}, identity{}, fmt.Errorf("verify process %d: %w", p.pid, err)
	}
	return p, id, nil
}

func checkHello(sl *slice, id identity, m wire.Message) error {
	if said := (identity{m.A, m.B}); said != id {
		return fmt.Errorf("%w: PID %d started at %d, but PID %d started at %d", errImpostor, said.owner, said.start, id.owner, id.start)
	}
	slot, err := sl.dir.page.slot(int(m.Slot))
	if err != nil {
		return err
	}
	if owns := (identity{slot.Owner, slot.StartTime}); owns != id {
		return fmt.Errorf("%w: slot %d is of PID %d started at %d", errImpostor, m.Slot, owns.owner, owns.start)
	}
	return nil
}

// hear handles a packet of a member.
func (c *conn) hear(m wire.Message) {
	sl, s := c.slice, c.slice.server
	if m.Type == wire.Short {
		c.member.isShort(s.config.Now(), m.A)
		return
	}
	t := sl.tenant
	if t == nil {
		return // without a limit on compute, or no longer in the set
	}
	now := s.config.Now()
	t.signs++
	switch m.Type {
	case wire.Want:
		s.carryOut(now, s.want(now, t))
	case wire.Closing:
		s.carryOut(now, s.closing(now, c.member, m))
	case wire.Drained:
		s.carryOut(now, s.idle(now, c.member, m))
	default:
		sl.rejected++
		c.close()
	}
}

// closing takes down when the work of a process will be done.
func (s *Server) closing(now sharer.Instant, m *member, msg wire.Message) []sharer.Action {
	t := m.slice.tenant
	if t.lease == nil {
		return nil
	}
	m.done = now.Add(boundedUse(msg.A-min(msg.A, nanoseconds(now)), longestPrediction))
	return s.look(now, t)
}

// idle handles that a process has nothing in flight under the turn that it
// names. An open lease is given back when no process of the tenant uses it.
func (s *Server) idle(now sharer.Instant, m *member, msg wire.Message) []sharer.Action {
	t, wants := m.slice.tenant, msg.B != 0
	m.done = 0
	l := t.lease
	if l == nil {
		if wants {
			return s.want(now, t)
		}
		return nil
	}
	l.used += boundedUse(msg.A, l.held(now))
	l.again = l.again || wants
	if l.ended == 0 && msg.Turn != m.slice.dir.grant.turn() {
		return nil // of an earlier lease
	}
	if l.ended == 0 && now < l.until {
		m.returned = true
		if st := t.state(); st.busy || st.waiting && !wants {
			t.renew()
			return nil
		}
		return s.giveBack(now, t)
	}
	return s.look(now, t)
}
