// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/gpu"
)

// A stranger is a slot that is taken and whose owner has not said Hello to this
// agent: it is about to, it did to an agent before, or it is dead.
type stranger struct {
	slice gpu.SliceID // its key
	slot  int
	id    identity
	file  fileID // of the page, which its process has mapped
}

// reap looks after strangers and damaged pages until ctx ends. It reads /proc
// without the server's lock, and only if there are strangers.
func (s *Server) reap(ctx context.Context) {
	ticker := time.NewTicker(s.config.Reap)
	defer ticker.Stop()
	for {
		s.reapOnce()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Server) reapOnce() {
	s.layDown()
	strangers := s.strangers()
	found := map[stranger]peer{}
	complete := true
	if len(strangers) > 0 {
		found, complete = s.search(strangers)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range strangers {
		p, alive := found[st]
		s.settle(st, p, alive, complete)
	}
	for _, sl := range s.slices {
		s.removeIfLeft(sl)
	}
}

// strangers lists them, and repairs the pages on the way.
func (s *Server) strangers() []stranger {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []stranger
	for _, sl := range s.slices {
		s.repair(sl)
		ids, err := sl.dir.page.identities()
		if err != nil {
			continue
		}
		for slot, id := range ids {
			if id.owner != 0 && sl.members[slot] == nil {
				all = append(all, stranger{sl.key(), slot, id, sl.file})
			}
		}
	}
	return all
}

// repair puts a slice's page right, and counts what its container did to it.
func (s *Server) repair(sl *slice) {
	done, err := sl.dir.page.repair()
	if done.access {
		sl.locked++
	}
	if done.content {
		sl.damage++
	}
	if err != nil || done != (harm{}) {
		s.complain(&sl.said.page, "a container damaged its page; it is put right", "slice", sl.ID,
			"content", done.content, "access", done.access, "err", err)
	}
}

// search looks for the strangers' processes: the PID in their namespace, the
// start time (unless the process had no time to write it), and the page mapped.
// The last tells containers apart, and processes that have called exec since.
// complete is false when a process could not be looked at: then nobody is dead.
func (s *Server) search(strangers []stranger) (found map[stranger]peer, complete bool) {
	pids, err := s.proc.PIDs()
	if err != nil {
		s.complain(&s.blind, "cannot look for processes", "err", err)
		return nil, false
	}
	byOwner := map[uint64][]stranger{}
	for _, st := range strangers {
		byOwner[st.id.owner] = append(byOwner[st.id.owner], st)
	}
	found = map[stranger]peer{}
	var failed error
	for _, pid := range pids {
		if err := s.match(pid, byOwner, found); err != nil && !hasEnded(err) {
			failed = err
		}
	}
	if failed != nil {
		s.complain(&s.blind, "cannot look at all processes", "err", failed)
	}
	return found, failed == nil
}

// match adds the strangers that are the process to found.
func (s *Server) match(pid int, byOwner map[uint64][]stranger, found map[stranger]peer) error {
	id, err := s.proc.self(pid)
	if err != nil {
		return err
	}
	for _, st := range byOwner[id.owner] {
		if _, twice := found[st]; twice || st.id.start != 0 && st.id.start != id.start {
			continue
		}
		mapped, err := s.proc.mapped(pid, st.file)
		if err != nil {
			return err
		}
		if !mapped {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return err
		}
		found[st] = peer{pid, fd}
	}
	return nil
}

// hasEnded reports whether looking at a process failed because it is dead.
func hasEnded(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// settle makes a stranger that lives a member, and clears the slot of one that
// does not.
func (s *Server) settle(st stranger, p peer, alive, complete bool) {
	sl := s.slices[st.slice]
	known := sl == nil || sl.members[st.slot] != nil
	switch {
	case alive && (known || st.id.start == 0 || p.dead()):
		p.close()
	case alive && sl.memberOf(p.pid) != nil:
		// It has another slot: this one is from before it called exec.
		p.close()
		_ = sl.dir.page.free(st.slot, st.id)
	case alive:
		_, _ = s.join(sl, st.slot, st.id, p)
	case !known && complete:
		if err := sl.dir.page.free(st.slot, st.id); err == nil {
			s.notify()
		}
	}
}
