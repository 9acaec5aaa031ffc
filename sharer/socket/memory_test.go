// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"testing"
	"time"

	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// What a process waits for is seen until it says otherwise, is silent, or dies.
func TestWhoIsShortIsSeen(t *testing.T) {
	r := newRig(t)
	unlimited := block("b", 0) // without a limit on compute
	r.set(block("a", 500), unlimited)
	one, two, other := r.attached("a"), r.attached("a"), r.attached("b")
	one.expect("short 5000", "0")
	two.expect("short 300", "0")
	other.expect("short 7", "0")
	r.eventually("all are seen", func() bool { return r.slice("a").ShortBytes == 5300 && r.slice("b").ShortBytes == 7 })
	one.expect("short 0", "0")
	r.eventually("one has its memory", func() bool { return r.slice("a").ShortBytes == 300 })
	two.kill()
	r.eventually("the dead wait for nothing", func() bool { return r.slice("a").ShortBytes == 0 })
	r.eventually("who says nothing more does not wait for ever", func() bool { return r.slice("b").ShortBytes == 0 })
}

func TestAnAllowanceChangesNothingElse(t *testing.T) {
	r := newRig(t)
	s := block("a", 500)
	s.MaxMemoryBytes = 8 << 30
	r.set(s)
	before := r.grant("a")
	coming := socket.MonotonicNow().Add(time.Second)
	if err := r.SetMemory("a", socket.Allowance{MemoryBytes: 3 << 30, Coming: coming}); err != nil {
		t.Fatal(err)
	}
	g := r.grant("a")
	if g.MemoryBytes != 3<<30 || g.ComingNs != uint64(coming) || g.Turn != before.Turn || g.Flags != before.Flags || g.GuaranteedBytes != before.GuaranteedBytes {
		t.Errorf("the grant is %+v, want the new limit under the same turn", g)
	}
	if err := r.SetMemory("a", socket.Allowance{MemoryBytes: 3 << 30, Reclaim: wire.ReclaimTrim}); err != nil {
		t.Fatal(err)
	}
	if g := r.grant("a"); wire.Reclaim(g.Reclaim) != wire.ReclaimTrim || g.Turn == before.Turn || g.ComingNs != 0 {
		t.Errorf("the grant is %+v, want another turn, so that somebody hears of it", g)
	}
	if v := r.slice("a"); v.MemoryBytes != 3<<30 || v.Reclaim != wire.ReclaimTrim {
		t.Errorf("the view says %d bytes and step %d", v.MemoryBytes, v.Reclaim)
	}
	if r.SetMemory("b", socket.Allowance{}) == nil {
		t.Error("a slice that nobody holds was given memory")
	}
}
