// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"strings"
	"testing"

	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// 300 processes of one slice start at once, beside one that works. All attach,
// and when they are killed all slots are free.
func TestManyProcesses(t *testing.T) {
	const processes = 300
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	b := r.attached("b")
	clients := make([]*client, processes)
	for i := range clients {
		clients[i] = r.client("a")
	}
	b.tell("work 100 200")
	for _, c := range clients {
		c.tell("claim")
		c.tell("connect")
		c.tell("hello")
		c.tell("waiting 1")
		c.tell("want")
	}
	slots := map[string]bool{}
	for _, c := range clients {
		c.answer()
		c.answer()
		welcome := c.answer()
		if !strings.HasPrefix(welcome, "welcome") || slots[welcome] {
			t.Fatalf("answer to Hello is %q, slots so far %d", welcome, len(slots))
		}
		slots[welcome] = true
	}
	if got := b.answer(); !strings.HasSuffix(got, "done") {
		t.Errorf("the neighbour's work: %s", got)
	}
	if n := len(r.slice("a").Processes); n != processes {
		t.Errorf("%d processes are attached, want %d", n, processes)
	}
	clients[processes-1].lease()
	for _, c := range clients {
		c.kill()
	}
	r.eventually("all slots are free", func() bool {
		for i := range wire.Slots {
			if r.slot("a", i).Owner != 0 {
				return false
			}
		}
		return true
	})
	if p := r.slice("a").Processes; len(p) != 0 {
		t.Errorf("%d processes are attached after all have died", len(p))
	}
}

func BenchmarkAttach(b *testing.B) {
	r := newRig(b)
	r.set(block("a", 500))
	c := r.client("a", "claim")
	for b.Loop() {
		c.do("connect")
		c.expect("hello", "welcome")
	}
}

func BenchmarkView(b *testing.B) {
	r := newRig(b)
	var specs []socket.Slice
	for _, id := range strings.Fields("a b c d e f g h i j k l m n o p") {
		specs = append(specs, block(id, 60))
	}
	r.set(specs...)
	for range 20 {
		r.attached("a")
	}
	for b.Loop() {
		r.View()
	}
}
