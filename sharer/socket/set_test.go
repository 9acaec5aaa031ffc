// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// inodes of the files that containers hold mounted.
func (r *rig) inodes(id string) (inodes [2]uint64) {
	r.Helper()
	for i, name := range []string{wire.GrantFile, wire.PageFile} {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(r.dir(id), name), &st); err != nil {
			r.Fatal(err)
		}
		inodes[i] = st.Ino
	}
	return inodes
}

func TestDirectory(t *testing.T) {
	r := newRig(t)
	old := unix.Umask(0o077)
	r.set(block("a", 500))
	unix.Umask(old)
	for name, want := range map[string]os.FileMode{
		"": 0o755 | os.ModeDir, wire.GrantFile: 0o644, wire.PageFile: 0o666, wire.SocketFile: 0o666 | os.ModeSocket,
	} {
		info, err := os.Stat(filepath.Join(r.dir("a"), name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%q has mode %v, want %v", name, info.Mode(), want)
		}
	}
	before := r.inodes("a")
	r.stop()
	r.start()
	r.set(block("a", 500))
	if after := r.inodes("a"); after != before {
		t.Errorf("the files have inodes %v after a restart, before %v: containers have the old ones mounted", after, before)
	}
	r.attached("a")
}

// Limits change while processes run; they see another turn.
func TestLimitsChange(t *testing.T) {
	r := newRig(t)
	s := block("a", 500)
	r.set(s)
	c := r.attached("a")
	turn := r.grant("a").Turn
	s.MemoryBytes, s.GuaranteedBytes, s.Permille = 2<<30, 2<<30, 300
	r.set(s, block("b", 500))
	if g := r.grant("a"); g.MemoryBytes != 2<<30 || g.GuaranteePermille != 300 || g.Turn != turn {
		t.Errorf("the grant is %+v, want the new limits under turn %d: a new one interrupts who has the lease", g, turn)
	}
	s.Permille, s.MaxPermille, s.Lend, s.Borrow = 200, 0, false, false
	s.MemoryBytes, s.GuaranteedBytes, s.Reclaim, s.ContextBytes = 5<<30, 1<<30, wire.ReclaimTrim, 7<<20
	s.MaxMemoryBytes = 8 << 30
	r.set(s, block("b", 500))
	g := r.grant("a")
	if g.Turn == turn {
		t.Error("the turn is the same: nobody hears that memory is to be given back")
	}
	if want := wire.HasMemory | wire.HasCompute | wire.Revocable; g.Flags != want {
		t.Errorf("flags are %#x, want %#x", g.Flags, want)
	}
	if g.GuaranteePermille != 200 || g.MaxPermille != 200 || g.MemoryBytes != 5<<30 || g.GuaranteedBytes != 1<<30 ||
		wire.Reclaim(g.Reclaim) != wire.ReclaimTrim || g.ContextBytes != 7<<20 {
		t.Errorf("the grant is %+v", g)
	}
	if g.GPUUUID != [16]byte{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff} {
		t.Errorf("the GPU's UUID is %x", g.GPUUUID)
	}
	c.lease()
}

// While the agent is silent the slices have their places in the timetable.
func TestSilence(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 250), block("b", 750))
	r.eventually("a heartbeat", func() bool { return r.grant("a").HeartbeatNs != 0 })
	r.attached("a").lease()
	r.stop()
	a, b := r.grant("a"), r.grant("b")
	for _, g := range []wire.Grant{a, b} {
		if g.HeartbeatNs != 0 || g.LeaseKind != 0 || g.UntilNs != 0 {
			t.Errorf("after the end: heartbeat %d, lease %d until %d, want all 0", g.HeartbeatNs, g.LeaseKind, g.UntilNs)
		}
		if share := uint64(g.GuaranteePermille) * g.PeriodNs / 1000; g.LengthNs != share || g.PeriodNs == 0 || g.StaleNs == 0 {
			t.Errorf("length is %d of %d, want %d", g.LengthNs, g.PeriodNs, share)
		}
	}
	if a.OffsetNs < b.OffsetNs+b.LengthNs && b.OffsetNs < a.OffsetNs+a.LengthNs {
		t.Errorf("the places overlap: %d+%d and %d+%d", a.OffsetNs, a.LengthNs, b.OffsetNs, b.LengthNs)
	}
}

func TestRetire(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	c := r.attached("a")
	c.do("waiting 1")
	c.lease()
	r.set(block("b", 500))
	c.expect("nolease 30", "lease 0")
	if !r.slice("a").Retired {
		t.Error("the slice is not retired")
	}
	if _, err := os.Stat(r.dir("a")); err != nil {
		t.Errorf("the directory is gone while a process uses it: %v", err)
	}
	if c := r.client("a"); c.do("connect") == "0" {
		t.Error("a process could connect to a slice that is over")
	}
	c.kill()
	r.eventually("the directory is gone", func() bool {
		_, err := os.Stat(r.dir("a"))
		return errors.Is(err, os.ErrNotExist)
	})
	r.set(block("a", 500), block("b", 500))
	r.attached("a").lease()
}

// A slice that another tenant holds from now on does not keep the lease of the
// last one.
func TestNewTenant(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	s := block("a", 500)
	r.set(s, block("b", 500))
	c := r.attached("a")
	c.do("busy")
	c.lease()
	s.Tenant = "tenant-new"
	r.set(s, block("b", 500))
	c.expect("nolease 30", "lease 0")
	r.attached("b").lease()
	c.do("idle")
	c.kill()
	r.eventually("the old process is gone", func() bool { return len(r.slice("a").Processes) == 0 })
}

// What an earlier agent left of slices that are over is removed.
func TestLeftovers(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500), block("c", 500))
	c := r.attached("c")
	r.stop()
	if err := os.MkdirAll(r.dir("d.new"), 0o755); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.set(block("b", 500))
	gone := func(id string) func() bool {
		return func() bool {
			_, err := os.Stat(r.dir(id))
			return errors.Is(err, os.ErrNotExist)
		}
	}
	r.eventually("a is gone", gone("a"))
	r.eventually("d.new is gone", gone("d.new"))
	if gone("c")() {
		t.Error("c is gone while a process uses it")
	}
	c.kill()
	r.eventually("c is gone", gone("c"))
}

// A directory of another layout is somebody else's.
func TestAnotherLayout(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	r.stop()
	path := filepath.Join(r.dir("a"), wire.GrantFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.NativeEndian.PutUint32(b[8:], wire.Layout+1)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	r.start()
	var layout *socket.LayoutError
	if err := r.Set([]socket.Slice{block("a", 500), block("b", 500)}); !errors.As(err, &layout) || layout.Slice != "a" {
		t.Fatalf("Set: %v, want a LayoutError of a", err)
	}
	r.attached("b").lease()
	if after, err := os.ReadFile(path); err != nil || string(after) != string(b) {
		t.Error("the directory was changed")
	}
}

func TestInvalidSlices(t *testing.T) {
	for field, change := range map[string]func(*socket.Slice){
		"ID":          func(s *socket.Slice) { s.ID = "../etc" },
		"GPU":         func(s *socket.Slice) { s.GPU = "GPU-12" },
		"Permille":    func(s *socket.Slice) { s.Permille = 1001 },
		"MaxPermille": func(s *socket.Slice) { s.MaxPermille = -1 },
		"Tenant":      func(s *socket.Slice) { s.Tenant = "" },
	} {
		r := newRig(t)
		s := block("a", 500)
		change(&s)
		var invalid *socket.InvalidSliceError
		if err := r.Set([]socket.Slice{s, block("b", 500)}); !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
		if len(r.View().Slices) != 1 {
			t.Errorf("%s: the other slice is not there", field)
		}
		r.stop()
	}
}

func TestMoveToAnotherGPU(t *testing.T) {
	r := newRig(t)
	s := block("a", 500)
	r.set(s)
	s.GPU = gpuB
	for range 2 {
		if err := r.Set([]socket.Slice{s}); err == nil {
			t.Error("a slice moved to another GPU")
		}
		r.stop()
		r.start() // the directory knows too
	}
}

func TestOverhead(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	c := r.attached("a")
	c.do("commit 1000")
	if err := r.SetOverhead("a", 0, 500); err != nil {
		t.Fatal(err)
	}
	if m := r.slice("a").Memory; m.Committed != 1000 || m.Overhead != 500 || m.Total() != 1500 {
		t.Errorf("memory is %+v", m)
	}
	for _, slot := range []int{-1, 1, wire.Slots} {
		if r.SetOverhead("a", slot, 1) == nil {
			t.Errorf("slot %d has no process, and an overhead", slot)
		}
	}
}

func TestWatch(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	changed, stop := r.Watch()
	defer stop()
	r.attached("a")
	select {
	case <-changed:
	case <-time.After(30 * time.Second):
		t.Fatal("nobody said that a process attached")
	}
}
