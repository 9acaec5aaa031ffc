// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/socket"
)

// A process that is checkpointed while it has the lease stands still with its busy
// word set, for as long as it is away. Its lease is taken by force once, and then
// the others have the GPU by their guarantees: those who pause between two pieces
// of work no less than one who never does. A lease that went on being charged made
// the others creditors of more than anybody can save; every pause gave that credit
// away, to who never paused, and who paused had 12 % in place of 25.
func TestAParkedTenantDoesNotShiftTheSharesOfOthers(t *testing.T) {
	r := newRig(t)
	r.set(block("parked", 200), block("steady", 250), block("one", 250), block("two", 250))
	parked, steady, one, two := r.attached("parked"), r.attached("steady"), r.attached("one"), r.attached("two")
	steady.tell("toil 1000000 4000")
	one.tell("work 1000000 4000")
	two.tell("work 1000000 4000")
	parked.overrun("parked")
	parked.do("waiting 1")
	parked.signal(unix.SIGSTOP)
	r.eventually("its lease is taken by force", func() bool { return r.tenant("parked").Forced > 0 })

	used := func(id string) time.Duration { return r.tenant(id).Used }
	before := map[string]time.Duration{"parked": used("parked"), "steady": used("steady"), "one": used("one"), "two": used("two")}
	had := func(id string) time.Duration { return used(id) - before[id] }
	r.eventually("the steady one has had the GPU for a while", func() bool { return had("steady") > time.Second })
	t.Logf("parked %v, steady %v, one %v, two %v", had("parked"), had("steady"), had("one"), had("two"))
	if d := had("parked"); d > 50*time.Millisecond {
		t.Errorf("the parked tenant is charged %v after its lease was taken", d)
	}
	shares := []time.Duration{had("steady"), had("one"), had("two")}
	if least, most := slices.Min(shares), slices.Max(shares); 3*least < 2*most {
		t.Errorf("the others, with the same guarantee each, have had %v (steady, one, two)", shares)
	}
	if n := r.tenant("parked").Forced; n != 1 {
		t.Errorf("the parked tenant's lease was taken %d times, want once", n)
	}
}

// How late its work was while it stood still says nothing of a tenant's
// predictions: when it stops again, others wait no longer than for the first time.
func TestAParkedTenantIsNotTakenForOneThatPredictsBadly(t *testing.T) {
	r := newRig(t, func(c *socket.Config) { c.Arbiter.LongestKernel = time.Minute })
	r.set(block("parked", 500), block("other", 500))
	parked, other := r.attached("parked"), r.attached("other")
	stop := func(times uint64) (took time.Duration) {
		parked.do("waiting 1")
		parked.lease() // before it is busy, or it may seem to be so under the last one still
		parked.do("busy")
		parked.do("waiting 0")
		parked.do("closing 1000")
		other.tell("work 1 100")
		parked.signal(unix.SIGSTOP)
		from := time.Now()
		r.eventually("its lease is taken by force", func() bool { return r.tenant("parked").Forced == times })
		took = time.Since(from)
		other.answer()
		return took
	}
	stop(1)
	const away = 3 * time.Second
	before := r.View().At
	r.eventually("it has been away for a while", func() bool { return r.View().At.Sub(before) > away })
	parked.signal(unix.SIGCONT)
	parked.do("idle")
	parked.do("drained 0 100")
	if took := stop(2); took >= away {
		t.Errorf("the second time its lease was taken after %v, want the patience of 200 ms", took)
	}
}
