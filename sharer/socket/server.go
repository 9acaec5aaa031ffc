// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/proc"
)

// Config is what a Server needs to know. Zero values mean the defaults.
type Config struct {
	// Root is the folder below which the slices' directories are, on a tmpfs:
	// after a reboot none must be left. Default /run/aipub.
	Root string
	// Proc is where the host's processes are seen. Default /proc.
	Proc string
	// Now reads CLOCK_MONOTONIC. Default MonotonicNow.
	Now func() sharer.Instant
	// Log gets what an administrator should know. Default: nothing.
	Log *slog.Logger

	// Arbiter configures who gets leases when, and with Window and Linger what the
	// processes do under them.
	Arbiter sharer.Config

	// Heartbeat is how often the agent says that it is alive. Default 25 ms.
	Heartbeat time.Duration
	// Stale is the age at which a heartbeat means that the agent is gone and the
	// timetable is in force. Default 250 ms.
	Stale time.Duration
	// Period is the length of the timetable. Default 100 ms.
	Period time.Duration
	// Patience is how long a new agent waits for work that it finds in flight
	// before it gives the first lease. Default 200 ms.
	Patience time.Duration
	// Reap is how often slots are looked for whose process is dead and never said
	// Hello to this agent. Default 500 ms.
	Reap time.Duration
}

func (c Config) withDefaults() Config {
	if c.Root == "" {
		c.Root = "/run/aipub"
	}
	if c.Proc == "" {
		c.Proc = string(proc.Host)
	}
	if c.Now == nil {
		c.Now = MonotonicNow
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&c.Heartbeat, 25 * time.Millisecond},
		{&c.Stale, 250 * time.Millisecond},
		{&c.Period, 100 * time.Millisecond},
		{&c.Patience, 200 * time.Millisecond},
		{&c.Reap, 500 * time.Millisecond},
	} {
		if *d.value <= 0 {
			*d.value = d.standard
		}
	}
	return c
}

// Server lets the processes of slices attach and carries out the Arbiter's
// decisions. Its methods may be called from any goroutine.
type Server struct {
	config Config
	proc   procFS
	blind  complaint // the reaper's, without mu

	mu      sync.Mutex // guards all below, held while events are handled
	poll    *poller
	arbiter *sharer.Arbiter
	slices  map[gpu.SliceID]*slice
	tenants map[sharer.TenantID]*tenant
	leases  map[*tenant]struct{} // the tenants that have a lease, drained or not
	started bool                 // Set was called
	hold    sharer.Instant       // no lease before, unless all that was found is idle
	beat    sharer.Instant       // when the next heartbeat is due
	watches map[chan struct{}]struct{}
	closed  bool
}

// New makes a server without slices. Close releases it.
func New(c Config) (*Server, error) {
	c = c.withDefaults()
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &Server{
		config:  c,
		proc:    procFS{proc.FS(c.Proc)},
		poll:    poll,
		arbiter: sharer.New(c.Arbiter),
		slices:  map[gpu.SliceID]*slice{},
		tenants: map[sharer.TenantID]*tenant{},
		leases:  map[*tenant]struct{}{},
		watches: map[chan struct{}]struct{}{},
	}, nil
}

// ErrClosed is the answer of a server after Close.
var ErrClosed = errors.New("the server is closed")

// Run serves until ctx ends. Then it ends all leases and falls silent: the
// processes go on by the timetable. It may run again. It keeps the thread of the
// goroutine that calls it, at a higher priority.
func (s *Server) Run(ctx context.Context) error {
	s.config.Log.Info("serving the processes of shared GPUs", "priority", hurry())
	defer s.silence()
	defer context.AfterFunc(ctx, s.poll.wake)()
	reaped := make(chan struct{})
	reapCtx, stop := context.WithCancel(ctx)
	go func() { defer close(reaped); s.reap(reapCtx) }()
	defer func() { stop(); <-reaped }()

	var events [128]unix.EpollEvent
	for ctx.Err() == nil {
		if err := s.arm(); err != nil {
			return err
		}
		ready, err := s.poll.wait(events[:])
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.tick(s.config.Now())
		for _, e := range ready {
			s.poll.handle(e)
		}
		s.mu.Unlock()
	}
	return nil
}

// arm sets the timer to the next thing that is due.
func (s *Server) arm() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	due := s.beat
	if next, ok := s.arbiter.Next(); ok {
		due = min(due, next)
	}
	for t := range s.leases {
		due = min(due, t.lease.due())
	}
	return s.poll.until(due)
}

// tick does all that is due by now.
func (s *Server) tick(now sharer.Instant) {
	if next, ok := s.arbiter.Next(); ok && next <= now {
		s.carryOut(now, s.arbiter.Tick(now))
	}
	for t := range s.leases {
		if t.lease.due() <= now {
			s.carryOut(now, s.look(now, t))
		}
	}
	if s.beat <= now {
		s.heartbeat(now)
		s.beat = now.Add(s.config.Heartbeat)
	}
}

// heartbeat says that the agent is alive, and does what is not urgent.
func (s *Server) heartbeat(now sharer.Instant) {
	for _, sl := range s.slices {
		sl.dir.grant.beat(now)
		sl.refresh(now)
	}
	s.endHold(now)
	for _, t := range s.tenants {
		s.carryOut(now, s.notice(now, t))
	}
}

// silence ends all leases and stops the heartbeat for good.
func (s *Server) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sl := range s.slices {
		sl.dir.grant.silence()
	}
	for t := range s.leases {
		t.lease.end(s.config.Now())
	}
	s.beat = 0
}

// Close releases all that the server holds. The directories stay, and what runs
// in the containers goes on by the timetable. Run must have returned.
func (s *Server) Close() error {
	s.silence()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, sl := range s.slices {
		sl.stop()
		for _, m := range sl.members {
			m.release()
		}
		sl.dir.close()
	}
	clear(s.slices)
	s.poll.close()
	return nil
}

// Watch returns a channel that is ready whenever something of the View has
// changed that is not a mere counter: who is attached, or a slice. Any number
// of changes are one notification. stop ends the watch.
func (s *Server) Watch() (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	s.mu.Lock()
	s.watches[ch] = struct{}{}
	s.mu.Unlock()
	return ch, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, ch)
	})
}

// notify wakes all watchers. s.mu is held.
func (s *Server) notify() {
	for ch := range s.watches {
		select {
		case ch <- struct{}{}:
		default: // one is waiting already
		}
	}
}

// SetOverhead writes what a process uses of its GPU beyond what its library
// counted, in bytes, as found by sharer/attach. It fails when no such process is
// attached.
func (s *Server) SetOverhead(id gpu.SliceID, slot int, bytes uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sl, index := s.instance(id, slot)
	if sl == nil || sl.members[index] == nil {
		return fmt.Errorf("set overhead: no process in slot %d of slice %q", slot, id)
	}
	if err := sl.dir.page.setOverhead(index, bytes); err != nil {
		return fmt.Errorf("set overhead: %w", err)
	}
	return nil
}
