// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Work that goes on after its turn was taken by force counts as being there until it
// is done, though nobody is charged for it.
func TestWorkUnderALeaseThatWasTakenIsStillThere(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	a.overrun("a")
	a.do("waiting 1")
	a.signal(unix.SIGSTOP)
	b.lease()
	r.eventually("the turn is overdue", func() bool { return r.tenant("a").Overdue > 100*time.Millisecond })
	v := r.tenant("a")
	if v.Undrained < v.Overdue || v.Undrained < v.Used {
		t.Errorf("it had work for %v, used %v and is overdue by %v", v.Undrained, v.Used, v.Overdue)
	}
	a.kill()
	r.eventually("it is over with the process", func() bool { return r.tenant("a").Overdue == 0 })
	if now := r.tenant("a").Undrained; now < v.Undrained {
		t.Errorf("what it had falls from %v to %v", v.Undrained, now)
	}
}
