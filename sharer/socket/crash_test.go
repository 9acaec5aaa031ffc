// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// steps are a process's life, in the order of the protocol.
var steps = []string{
	"half", "claim", "connect", "hello", "commit 1000", "waiting 1", "want", "lease 30", "busy", "waiting 0", "closing 1000", "idle", "drained 1 100", "close",
}

// A process is killed after each step. Its slot is free again, and another
// tenant gets the GPU.
func TestKillAfterEachStep(t *testing.T) {
	for n := 1; n <= len(steps); n++ {
		life := steps[:n]
		if n > 1 {
			life = life[1:] // claim instead of half
		}
		t.Run(fmt.Sprintf("%02d-%s", n, strings.Fields(life[len(life)-1])[0]), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, patient)
			r.set(block("a", 500), block("b", 500))
			c := r.client("a", life...)
			c.kill()
			r.eventually("the slot is free", func() bool { return r.slot("a", 0) == (wire.Slot{}) })
			r.eventually("nobody is attached", func() bool { return len(r.slice("a").Processes) == 0 })
			b := r.attached("b")
			b.lease()
			b.expect("work 3 100", "")
		})
	}
}

// A process that is killed while an agent is not there is found by the next.
func TestKillBetweenAgents(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	dead, alive := r.attached("a"), r.attached("a")
	r.stop()
	dead.kill()
	r.start()
	r.set(block("a", 500))
	r.eventually("the dead one's slot is free", func() bool { return r.slot("a", 0).Owner == 0 })
	r.eventually("the other is known, without a connection", func() bool {
		p := r.slice("a").Processes
		return len(p) == 1 && p[0].Slot == 1 && p[0].HostPID == alive.cmd.Process.Pid && !p[0].Connected
	})
	alive.do("connect")
	alive.expect("hello", "welcome 1")
	alive.lease()
	// Known by its pidfd as any other.
	alive.kill()
	r.eventually("its slot is free", func() bool { return r.slot("a", 1).Owner == 0 })
}

func TestStoppedProcessLosesTheGPU(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	a.overrun("a")
	a.do("waiting 1")
	a.signal(unix.SIGSTOP)
	b.lease()
	b.do("work 20 100")
	if got := r.tenant("a").Forced; got == 0 {
		t.Error("no lease was taken by force, and yet b had one while a was busy")
	}
	a.signal(unix.SIGCONT)
	a.do("waiting 0")
	a.do("idle")
	a.do("work 5 100")
}

// A stopped process that waits must not be given one lease after the other.
func TestStoppedWaiterIsPassedOver(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	a.do("waiting 1")
	a.signal(unix.SIGSTOP)
	b.do("work 200 100")
	b.do("work 200 100")
	la, lb := r.tenant("a").Leases, r.tenant("b").Leases
	if lb < 400 || la > lb/10 {
		t.Errorf("the stopped tenant had %d leases while the other had %d", la, lb)
	}
	a.signal(unix.SIGCONT)
	a.do("work 1 100")
}

// Whatever a container does to its page and its socket, its neighbour works.
func TestGarbage(t *testing.T) {
	for seed := 1; seed <= 4; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newRig(t)
			r.set(block("a", 500), block("b", 500))
			a, b := r.attached("a"), r.attached("b")
			a.tell(fmt.Sprintf("garbage %d 5000", seed))
			if got := b.do("work 50 200"); !strings.HasSuffix(got, "done") {
				t.Errorf("the neighbour's work: %s", got)
			}
			a.answer()
			r.eventually("the page is put right", func() bool { return r.slice("a").Damage > 0 })
			r.View()
			a.kill()
			r.eventually("its processes are gone", func() bool { return len(r.slice("a").Processes) == 0 })
			// The slice is as good as new for the next process.
			r.eventually("its slots are free", func() bool { return r.slot("a", 7).Owner == 0 && r.slot("a", 511).Owner == 0 })
			r.attached("a").lease()
		})
	}
}

func TestTruncatedPage(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	for _, size := range []string{"0", "4096", "10000000"} {
		damage := r.slice("a").Damage
		a.do("truncate " + size)
		for range 20 {
			r.View()
		}
		b.do("work 5 100")
		r.eventually("the page is put right", func() bool { return r.slice("a").Damage > damage })
	}
	info, err := os.Stat(filepath.Join(r.dir("a"), wire.PageFile))
	if err != nil || info.Size() != int64(wire.PageSize) {
		t.Errorf("the page has %d bytes, %v; want %d", info.Size(), err, wire.PageSize)
	}
	a.kill()
	r.attached("a").lease()
}

// An agent that goes and comes while tenants work: all of them go on, and never
// two at a time.
func TestRestartUnderLoad(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Patience = time.Minute })
	specs := []socket.Slice{block("a", 300), block("b", 300), block("c", 400)}
	r.set(specs...)
	var clients []*client
	for _, id := range []string{"a", "b", "c"} {
		clients = append(clients, r.attached(id))
	}
	for range 5 {
		for _, c := range clients {
			c.tell("work 40 300")
		}
		r.eventually("all have worked", func() bool {
			for _, id := range []string{"a", "b", "c"} {
				if r.tenant(id).Leases < 3 {
					return false
				}
			}
			return true
		})
		r.stop()
		r.start()
		r.set(specs...)
		for _, c := range clients {
			if got := c.answer(); !strings.HasSuffix(got, "done") {
				t.Fatalf("work ended with %q", got)
			}
			c.do("connect")
			c.expect("hello", "welcome")
		}
	}
	if n := r.overlaps(); n != 0 {
		t.Errorf("two were at work at the same time, %d times", n)
	}
}

// Work that an agent allowed may go on when the next one comes: nobody has the
// GPU until it is done.
func TestRestartWaitsForWorkInFlight(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Patience = time.Hour })
	specs := []socket.Slice{block("a", 500), block("b", 500)}
	r.set(specs...)
	a, b := r.attached("a"), r.attached("b")
	a.overrun("a")
	r.stop()
	r.start()
	r.set(specs...)
	b.do("connect")
	b.expect("hello", "welcome")
	b.do("waiting 1")
	b.do("want")
	for range 5 {
		beat := r.grant("b").HeartbeatNs
		r.eventually("another heartbeat", func() bool { return r.grant("b").HeartbeatNs != beat })
	}
	if n := r.tenant("b").Leases; n != 0 {
		t.Fatalf("b had %d leases while a's work was in flight", n)
	}
	a.do("idle")
	b.lease()
}

// With no file descriptor left, those who are attached go on; the others get in
// later.
func TestNoFileDescriptors(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	b, late := r.attached("b"), r.client("b", "claim")
	strangers := r.client("a")
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(len(fds) + 10)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	restore := func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }
	defer restore()
	strangers.do("strangers 50")
	late.do("connect")
	if got := b.do("work 20 100"); !strings.HasSuffix(got, "done") {
		t.Errorf("the attached client's work: %s", got)
	}
	restore()
	late.expect("hello", "welcome")
}

// A process that calls exec keeps its PID and its start time. What it had is gone.
func TestExecFreesTheSlot(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	c := r.client("a", "claim", "connect", "hello", "commit 1000")
	c.tell("exec")
	c.expect("claim", "1")
	c.do("connect")
	c.expect("hello", "welcome 1")
	r.eventually("the slot from before is free", func() bool { return r.slot("a", 0) == (wire.Slot{}) })
	if p := r.slice("a").Processes; len(p) != 1 || p[0].Slot != 1 {
		t.Errorf("processes are %+v, want the one in slot 1", p)
	}
}

// Connections that say nothing and packets without end are one container's loss.
func TestFlood(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	mute := r.client("a", "strangers 800")
	a.tell("flood 200000")
	if got := b.do("work 50 200"); !strings.HasSuffix(got, "done") {
		t.Errorf("the neighbour's work: %s", got)
	}
	mute.kill()
	r.eventually("the silent connections are gone", func() bool {
		c := r.client("a", "claim", "connect")
		defer c.kill()
		return strings.HasPrefix(c.do("hello"), "welcome")
	})
}
