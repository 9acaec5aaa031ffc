// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped maps a file and unmaps it at the end of the test.
func mapped(r *rig, f *os.File, size int) unsafe.Pointer {
	r.Helper()
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = unix.Munmap(b) })
	return unsafe.Pointer(&b[0])
}

func TestAttach(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	c := r.attached("a")
	p := r.slice("a").Processes
	if len(p) != 1 || p[0].HostPID != c.cmd.Process.Pid || p[0].Slot != 0 || !p[0].Connected {
		t.Fatalf("processes are %+v, want PID %d in slot 0", p, c.cmd.Process.Pid)
	}
	c.do("close")
	r.eventually("the connection is seen closed", func() bool { return !r.slice("a").Processes[0].Connected })
	if r.slot("a", 0).Owner == 0 {
		t.Fatal("the slot was cleared while its process lives")
	}
	c.do("connect")
	c.expect("hello", "welcome 0")
	c.kill()
	r.eventually("the slot of the dead process is free", func() bool { return r.slot("a", 0).Owner == 0 })
	if p := r.slice("a").Processes; len(p) != 0 {
		t.Fatalf("processes are %+v after the only one died", p)
	}
}

func TestImpostorIsRefused(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	c := r.client("a", "claim", "connect")
	c.expect("impostor", "refused 2")
	if p := r.slice("a").Processes; len(p) != 0 {
		t.Fatalf("processes are %+v, want none", p)
	}
}

func TestHelloNeedsTheSlot(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	r.attached("a")
	// This one has no slot, and names that of the other.
	c := r.client("a", "connect")
	c.expect("hello", "refused 2")
}

func TestLeaseGoesRound(t *testing.T) {
	r := newRig(t, patient)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	a.overrun("a")
	b.do("want")
	// a's work goes on beyond its lease; b must wait for it.
	a.expect("nolease 30", "lease 0")
	if g := r.grant("b"); g.LeaseKind != 0 {
		t.Fatal("b has a lease while a has not drained")
	}
	a.do("idle")
	a.do("drained 0 1000")
	b.lease()
}
