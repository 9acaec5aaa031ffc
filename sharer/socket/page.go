// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/wire"
)

// page is what the processes of a slice say of themselves, in memory that their
// container may write and whose file it may cut short. Nothing in it is trusted.
type page struct {
	file *os.File
	w    *wire.Page
}

// access runs f with the page. An access to memory that the container has cut
// off is an error instead of the end of this process; f may have run in part.
func (p page) access(f func(w *wire.Page)) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("access page: %v", fault)
		}
	}()
	f(p.w)
	return nil
}

// identity is who owns a slot.
type identity struct {
	owner uint64 // PID in the container's namespace, 0: free
	start uint64 // clock ticks since boot
}

// identities gives the owner of each slot, free ones included.
func (p page) identities() (ids [wire.Slots]identity, err error) {
	err = p.access(func(w *wire.Page) {
		for i := range w.Slot {
			if owner := atomic.LoadUint64(&w.Slot[i].Owner); owner != 0 {
				ids[i] = identity{owner, atomic.LoadUint64(&w.Slot[i].StartTime)}
			}
		}
	})
	return ids, err
}

// words are those of a slot that say whether there is work.
type words struct {
	busy, waiting bool
	launches      uint64
}

// work reads the words of a slot that say whether there is work. A page that
// cannot be read has none: its processes cannot read it either.
func (p page) work(slot int) (v words) {
	_ = p.access(func(w *wire.Page) {
		s := &w.Slot[slot]
		v = words{
			busy:     atomic.LoadUint32(&s.BusyTurn) != 0,
			waiting:  atomic.LoadUint32(&s.Waiting) != 0,
			launches: atomic.LoadUint64(&s.Launches),
		}
	})
	return v
}

// slot copies a slot, each word by itself.
func (p page) slot(i int) (out wire.Slot, err error) {
	err = p.access(func(w *wire.Page) {
		s := &w.Slot[i]
		for _, c := range []struct{ to, from *uint64 }{
			{&out.Owner, &s.Owner},
			{&out.StartTime, &s.StartTime},
			{&out.CommittedBytes, &s.CommittedBytes},
			{&out.PendingBytes, &s.PendingBytes},
			{&out.OverheadBytes, &s.OverheadBytes},
			{&out.ManagedBytes, &s.ManagedBytes},
			{&out.HostBytes, &s.HostBytes},
			{&out.PeakBytes, &s.PeakBytes},
			{&out.Refused, &s.Refused},
			{&out.Launches, &s.Launches},
			{&out.BusyNs, &s.BusyNs},
			{&out.WaitedNs, &s.WaitedNs},
			{&out.Waits, &s.Waits},
			{&out.LongestNs, &s.LongestNs},
			{&out.DoneNs, &s.DoneNs},
		} {
			*c.to = atomic.LoadUint64(c.from)
		}
		for _, c := range []struct{ to, from *uint32 }{
			{&out.DriverVersion, &s.DriverVersion},
			{&out.Hooks, &s.Hooks},
			{&out.Found, &s.Found},
			{&out.Unknown, &s.Unknown},
			{&out.Problems, &s.Problems},
			{&out.Waiting, &s.Waiting},
			{&out.Inflight, &s.Inflight},
			{&out.BusyTurn, &s.BusyTurn},
		} {
			*c.to = atomic.LoadUint32(c.from)
		}
		out.BuildID = s.BuildID
	})
	return out, err
}

// free clears a slot if it is still its owner's: all words, then the owner. From
// then on another process may take it.
func (p page) free(slot int, id identity) error {
	return p.access(func(w *wire.Page) {
		s := &w.Slot[slot]
		if atomic.LoadUint64(&s.Owner) != id.owner || atomic.LoadUint64(&s.StartTime) != id.start {
			return
		}
		clear(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), unsafe.Sizeof(s.Owner))), wire.SlotSize-int(unsafe.Sizeof(s.Owner))))
		atomic.CompareAndSwapUint64(&s.Owner, id.owner, 0)
	})
}

// setOverhead writes what a process uses of the GPU beyond what its library
// counted.
func (p page) setOverhead(slot int, bytes uint64) error {
	return p.access(func(w *wire.Page) { atomic.StoreUint64(&w.Slot[slot].OverheadBytes, bytes) })
}

// setHeader writes the header, the magic number last.
func (p page) setHeader() {
	w := p.w
	atomic.StoreUint32(&w.Layout, wire.Layout)
	atomic.StoreUint32(&w.Size, uint32(wire.PageSize))
	atomic.StoreUint32(&w.Slots, wire.Slots)
	atomic.StoreUint32(&w.SlotSize, uint32(wire.SlotSize))
	atomic.StoreUint64(&w.Magic, wire.PageMagic)
}

func (p page) headerIntact() bool {
	w := p.w
	return atomic.LoadUint64(&w.Magic) == wire.PageMagic && atomic.LoadUint32(&w.Layout) == wire.Layout &&
		atomic.LoadUint32(&w.Size) == uint32(wire.PageSize) && atomic.LoadUint32(&w.Slots) == wire.Slots &&
		atomic.LoadUint32(&w.SlotSize) == uint32(wire.SlotSize)
}

// harm is what a container has done to its page.
type harm struct {
	content bool // to its words, or its length
	access  bool // to who may open its file
}

// repair puts right what a container may have damaged: who may open the file (its
// next process could not attach), its size (a longer one would fill the host's
// memory, a shorter one is a fault), the header, and the mark of used slots, which
// must be above all that are taken: the processes sum up the ledgers below it. It
// reports what there was to put right.
func (p page) repair() (done harm, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &st); err != nil {
		return done, fmt.Errorf("repair page: %w", err)
	}
	changed, locked := p.unlock(st)
	done.access = changed
	if st.Size != int64(wire.PageSize) {
		done.content = true
		if err := p.file.Truncate(int64(wire.PageSize)); err != nil {
			return done, fmt.Errorf("repair page: %w", errors.Join(err, locked))
		}
	}
	ids, err := p.identities()
	if err != nil {
		done.content = true
		return done, errors.Join(err, locked)
	}
	err = p.access(func(w *wire.Page) {
		if !p.headerIntact() {
			done.content = true
			p.setHeader()
		}
		done.content = raiseUsed(&w.Used, ids) || done.content
	})
	done.content = done.content || err != nil
	return done, errors.Join(err, locked)
}

// accessList is where Linux keeps a file's list of who may do what.
const accessList = "system.posix_acl_access"

// unlock lets everybody open the file who sees it, as it was made, and reports
// whether somebody had changed that. Its group means nothing then.
func (p page) unlock(st unix.Stat_t) (changed bool, err error) {
	fd := int(p.file.Fd())
	if n, err := unix.Fgetxattr(fd, accessList, nil); err == nil && n > 0 { // elsewhere there are no lists
		changed = true
		if err := unix.Fremovexattr(fd, accessList); err != nil {
			return true, fmt.Errorf("remove access list: %w", err)
		}
	}
	if int(st.Uid) != os.Geteuid() {
		changed = true
		if err := unix.Fchown(fd, os.Geteuid(), -1); err != nil {
			return true, fmt.Errorf("change owner back: %w", err)
		}
	}
	if changed || st.Mode&0o7777 != pageMode {
		changed = true
		if err := unix.Fchmod(fd, pageMode); err != nil {
			return true, fmt.Errorf("change mode back: %w", err)
		}
	}
	return changed, nil
}

// raiseUsed raises the mark of used slots above the last one that is taken, and
// lowers one beyond the end. A process raises it by itself right after it took
// a slot, so a mark that is one behind is no damage.
func raiseUsed(used *uint32, ids [wire.Slots]identity) (damaged bool) {
	least := uint32(0)
	for i, id := range ids {
		if id.owner != 0 {
			least = uint32(i) + 1
		}
	}
	for {
		have := atomic.LoadUint32(used)
		want := max(have, least)
		if have > wire.Slots {
			want = wire.Slots
		}
		if have == want {
			return damaged
		}
		if atomic.CompareAndSwapUint32(used, have, want) {
			damaged = have > wire.Slots || have+1 < least
		}
	}
}
