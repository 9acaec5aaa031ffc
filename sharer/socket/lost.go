// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"fmt"
	"slices"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// A slice is lost when somebody removed its directory while it is held. Its
// processes have the files mapped and go on: the lost slice stays beside the one
// that takes its place, has the leases of the same tenant, and goes with its last
// process. A new container finds the new directory. One that runs has the old one
// mounted, which is empty now: its next process attaches when the container is
// started anew, and is NotAttached until then. An agent that is started anew does
// not know lost slices; their processes go on by the timetable.

// key is the slice's place among the server's: its ID, or for a lost one a name
// that no slice can have.
func (sl *slice) key() gpu.SliceID {
	if sl.lost == 0 {
		return sl.ID
	}
	return gpu.SliceID(fmt.Sprintf("%s~%d", sl.ID, sl.lost))
}

// instances are the slice of that ID and the lost ones that it took the place of.
func (s *Server) instances(id gpu.SliceID) []*slice {
	var all []*slice
	for _, sl := range s.slices {
		if sl.ID == id {
			all = append(all, sl)
		}
	}
	slices.SortFunc(all, func(x, y *slice) int { return x.lost - y.lost })
	return all
}

// instance is who has a slot as Process counts them: those of lost slices count on.
func (s *Server) instance(id gpu.SliceID, slot int) (*slice, int) {
	for _, sl := range s.instances(id) {
		if slot >= 0 && slot/wire.Slots == sl.lost {
			return sl, slot % wire.Slots
		}
	}
	return nil, 0
}

// layDown makes directories anew that were removed while their slices are held,
// and sockets alike. It costs three stats for each slice.
func (s *Server) layDown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	now, news := s.config.Now(), false
	for _, sl := range s.slices {
		if sl.retired || sl.lost > 0 {
			continue
		}
		done, err := s.restore(now, sl)
		news = news || done
		if err != nil {
			s.complain(&sl.broken, "cannot make a slice's directory anew; its containers cannot start", "slice", sl.ID, "err", err)
		}
	}
	if news {
		s.regroup(now)
		s.notify()
	}
	for _, sl := range s.slices {
		if sl.lost > 0 {
			s.divide(sl.ID) // what one has allocated since is not the other's
		}
	}
}

// restore puts a slice's directory right and reports whether another slice took
// its place.
func (s *Server) restore(now sharer.Instant, sl *slice) (bool, error) {
	if !sl.dir.intact() {
		return true, s.replace(now, sl)
	}
	if sl.listener == (token{}) || sl.dir.hasSocket() {
		return false, nil
	}
	s.config.Log.Warn("a slice's socket was removed while the slice is held; made anew", "slice", sl.ID)
	s.poll.closeFD(sl.listener)
	sl.listener = token{}
	return false, sl.listen()
}

// replace makes another directory for a slice that has lost its own.
func (s *Server) replace(now sharer.Instant, sl *slice) error {
	if err := removeDirectory(sl.dir.path); err != nil { // what is left of it
		return err
	}
	fresh, err := s.adopt(now, sl.Slice)
	if err != nil {
		return err
	}
	if err := fresh.listen(); err != nil {
		fresh.dir.close()
		return err
	}
	if sl.listener != (token{}) {
		s.poll.closeFD(sl.listener)
		sl.listener = token{}
	}
	fresh.past, fresh.damage, fresh.locked, fresh.rejected = sl.past, sl.damage, sl.locked, sl.rejected
	sl.past, sl.damage, sl.locked, sl.rejected = Work{}, 0, 0, 0
	for _, other := range s.instances(sl.ID) {
		sl.lost = max(sl.lost, other.lost+1)
	}
	s.slices[fresh.ID], s.slices[sl.key()] = fresh, sl
	s.config.Log.Warn("a slice's directory was removed while the slice is held; made anew. Processes that are attached go on; "+
		"a running container must be started anew before another process of it can attach", "slice", sl.ID, "attached", len(sl.members))
	s.removeIfLeft(sl)
	return nil
}

// divide lets each instance of a slice allocate what the others leave of the
// limit, the only one all of it: their ledgers do not know of each other.
func (s *Server) divide(id gpu.SliceID) {
	all := s.instances(id)
	used, sum := make([]uint64, len(all)), uint64(0)
	for i, sl := range all {
		used[i] = sl.view().Memory.Total()
		sum += used[i]
	}
	for i, sl := range all {
		if sl.MemoryBytes > 0 {
			others := sum - used[i]
			sl.dir.grant.limitMemory(max(1, sl.MemoryBytes-min(sl.MemoryBytes, others)))
		}
	}
}

// forget takes a slice that no process uses out of the server, and its directory
// away unless it is lost.
func (s *Server) forget(sl *slice) error {
	delete(s.slices, sl.key())
	for _, t := range s.tenants {
		t.slices = slices.DeleteFunc(t.slices, func(x *slice) bool { return x == sl })
	}
	if sl.lost == 0 {
		return sl.dir.remove()
	}
	sl.stop()
	if heir := s.slices[sl.ID]; heir != nil {
		heir.past.add(sl.past)
		heir.damage += sl.damage
		heir.locked += sl.locked
		heir.rejected += sl.rejected
	}
	sl.dir.close()
	s.divide(sl.ID)
	return nil
}

// merge adds what a lost slice's processes do to the view of its heir.
func (v *SliceView) merge(lost SliceView) {
	v.Processes = append(v.Processes, lost.Processes...)
	v.Memory.add(lost.Memory)
	v.Work.add(lost.Work)
	v.Damage += lost.Damage
	v.Locked += lost.Locked
	v.Rejected += lost.Rejected
	v.ShortBytes = sum(v.ShortBytes, lost.ShortBytes)
}
