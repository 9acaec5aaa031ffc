// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/wire"
)

// Set makes these the slices that are held. Directories are made or adopted
// before it returns, so that a container may be started; limits change for the
// processes that run. A slice that is left out is over: nothing may attach to it
// any more, and its directory goes when its last process is dead.
//
// A slice that is invalid, or whose directory cannot be used (LayoutError), is
// left as it is; all others are done. Of two with one ID the first counts. The
// error joins what went wrong.
func (s *Server) Set(specs []Slice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	var errs []error
	now := s.config.Now()
	kept := map[gpu.SliceID]bool{}
	for _, spec := range specs {
		if kept[spec.ID] {
			continue
		}
		kept[spec.ID] = true
		if err := s.put(now, spec); err != nil {
			errs = append(errs, err)
		}
	}
	for _, sl := range s.slices {
		if !kept[sl.ID] {
			s.retire(sl)
		}
	}
	if !s.started {
		s.started = true
		errs = append(errs, s.adoptLeftovers(now, kept))
	}
	s.regroup(now)
	s.notify()
	s.poll.wake()
	return errors.Join(errs...)
}

// adoptLeftovers finds the directories of slices that were over while no agent
// was there to see it. They are retired as if it had been.
func (s *Server) adoptLeftovers(now sharer.Instant, kept map[gpu.SliceID]bool) error {
	ids, err := listDirectories(s.config.Root)
	for _, id := range ids {
		if kept[id] {
			continue
		}
		sl, err := s.adopt(now, Slice{ID: id})
		if err != nil {
			s.config.Log.Warn("left a slice's directory alone", "slice", id, "err", err)
			continue
		}
		s.slices[id] = sl
		s.retire(sl)
	}
	return err
}

// put brings one slice into being, or changes it.
func (s *Server) put(now sharer.Instant, spec Slice) error {
	if err := spec.validate(); err != nil {
		return err
	}
	sl := s.slices[spec.ID]
	if sl == nil {
		var err error
		if sl, err = s.adopt(now, spec); err != nil {
			return err
		}
		s.slices[spec.ID] = sl
	}
	if sl.GPU != spec.GPU {
		return fmt.Errorf("change slice %s: it is on %s, and cannot move to %s", spec.ID, sl.GPU, spec.GPU)
	}
	if _, err := s.restore(now, sl); err != nil {
		return fmt.Errorf("make directory of slice %s anew: %w", spec.ID, err)
	}
	for _, one := range s.instances(spec.ID) {
		one.Slice, one.retired = spec, false
	}
	sl = s.slices[spec.ID]
	if sl.listener == (token{}) {
		if err := sl.listen(); err != nil {
			return err
		}
	}
	return nil
}

// adopt opens a slice's directory. What an earlier agent allowed is over; what
// is still in flight because of it holds back the first lease.
func (s *Server) adopt(now sharer.Instant, spec Slice) (*slice, error) {
	dir, err := openDirectory(s.config.Root, spec)
	if err != nil {
		return nil, err
	}
	name := cString(dir.grant.w.GPUName[:])
	if spec.GPU == "" {
		spec.GPU = name
	}
	if name != spec.GPU {
		dir.close()
		return nil, fmt.Errorf("adopt slice %s: it is on %s, and cannot move to %s", spec.ID, name, spec.GPU)
	}
	file, err := identify(dir.page.file)
	if err != nil {
		dir.close()
		return nil, err
	}
	sl := &slice{Slice: spec, server: s, dir: dir, file: file, members: map[int]*member{}, conns: map[*conn]struct{}{}, door: doorBurst}
	dir.grant.lease(wire.LeaseNone, 0)
	dir.grant.beat(now)
	if ids, err := dir.page.identities(); err == nil && slices.IndexFunc(ids[:], func(id identity) bool { return id.owner != 0 }) >= 0 {
		s.hold = max(s.hold, now.Add(s.config.Patience))
	}
	return sl, nil
}

func cString(b []byte) string {
	if i := slices.Index(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// retire ends a slice. Processes that are left have no lease ever again.
func (s *Server) retire(sl *slice) {
	sl.retired = true
	sl.stop()
	sl.dir.grant.lease(wire.LeaseNone, 0)
	s.removeIfLeft(sl)
}

// removeIfLeft removes a slice that is over, or lost, and that no process uses.
func (s *Server) removeIfLeft(sl *slice) {
	if !sl.retired && sl.lost == 0 || len(sl.members) > 0 {
		return
	}
	if ids, err := sl.dir.page.identities(); err == nil && slices.IndexFunc(ids[:], func(id identity) bool { return id.owner != 0 }) >= 0 {
		return // the reaper looks after them
	}
	if err := s.forget(sl); err != nil {
		s.config.Log.Error("cannot remove a slice's directory", "slice", sl.ID, "err", err)
	}
}

// regroup makes tenants of the slices, tells the Arbiter, and writes all limits.
func (s *Server) regroup(now sharer.Instant) {
	groups := map[sharer.TenantID][]*slice{}
	for _, id := range slices.Sorted(maps.Keys(s.slices)) {
		if sl := s.slices[id]; sl.Permille > 0 && !sl.retired {
			groups[sl.Tenant] = append(groups[sl.Tenant], sl)
		} else {
			sl.tenant = nil
		}
	}
	var specs []sharer.Tenant
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		t := s.tenants[id]
		if t == nil {
			t = &tenant{id: id}
			s.tenants[id] = t
		}
		s.regroupTenant(t, groups[id])
		specs = append(specs, tenantOf(id, groups[id]))
	}
	s.carryOut(now, s.arbiter.Set(now, specs))
	s.dropTenants(groups)
	s.writeLimits(specs)
}

// dropTenants forgets those who hold nothing any more, once they have drained.
func (s *Server) dropTenants(groups map[sharer.TenantID][]*slice) {
	for id, t := range s.tenants {
		t.over = groups[id] == nil
		if !t.over {
			continue
		}
		t.wants = false
		t.slices = slices.DeleteFunc(t.slices, func(sl *slice) bool { return sl.tenant != nil })
		if t.lease == nil {
			delete(s.tenants, id)
		}
	}
}

// regroupTenant gives t its slices. The grants of all of them say the same, also
// of one that was another tenant's.
func (s *Server) regroupTenant(t *tenant, group []*slice) {
	for _, sl := range group {
		if sl.tenant == t {
			continue
		}
		sl.tenant = t
		if l := t.lease; l != nil && l.ended == 0 {
			sl.dir.grant.lease(l.kind, l.until)
		} else {
			sl.dir.grant.lease(wire.LeaseNone, 0)
		}
	}
	t.slices = group
}

// writeLimits writes what each slice is allowed, and its place in the timetable.
func (s *Server) writeLimits(specs []sharer.Tenant) {
	c := s.config
	windows := map[string]map[sharer.TenantID]window{}
	for device, slots := range sharer.Timetable(specs, c.Period) {
		windows[device] = map[sharer.TenantID]window{}
		for _, slot := range slots {
			windows[device][slot.Tenant] = window{slot.Offset, slot.Length}
		}
	}
	t := timing{window: s.arbiter.Window(), linger: s.arbiter.Linger(), stale: c.Stale, period: c.Period}
	for _, sl := range s.slices {
		w := window{}
		if sl.tenant != nil {
			w = windows[sl.GPU][sl.tenant.id]
		}
		sl.dir.grant.setLimits(sl.Slice, t, w)
	}
	for _, sl := range s.slices {
		if sl.lost > 0 {
			s.divide(sl.ID)
		}
	}
}

// tenantOf sums up the slices of a tenant, in their order.
func tenantOf(id sharer.TenantID, group []*slice) sharer.Tenant {
	t := sharer.Tenant{ID: id, Lend: true, Borrow: true}
	most := map[string]int{}
	for _, sl := range group {
		if sl.lost > 0 {
			continue // its heir counts
		}
		t.Lend, t.Borrow = t.Lend && sl.Lend, t.Borrow && sl.Borrow
		i, found := slices.BinarySearchFunc(t.Legs, sl.GPU, func(l sharer.Leg, gpu string) int { return cmp.Compare(l.GPU, gpu) })
		if !found {
			t.Legs = slices.Insert(t.Legs, i, sharer.Leg{GPU: sl.GPU})
		}
		t.Legs[i].Permille = min(t.Legs[i].Permille+sl.Permille, 1000)
		most[sl.GPU] = min(most[sl.GPU]+sl.maxPermille(), 1000)
		t.MaxPermille = max(t.MaxPermille, most[sl.GPU])
	}
	return t
}
