// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"testing"
	"time"
)

const ms = Instant(time.Millisecond)

// desk drives an arbiter by hand and compares what it asks for.
type desk struct {
	*testing.T
	*Arbiter
}

func newDesk(t *testing.T, tenants ...Tenant) desk {
	d := desk{t, New(Config{})}
	d.want(d.Set(0, tenants))
	return d
}

// want compares actions, written "Grant a 1 until 20ms: Turn".
func (d desk) want(got []Action, want ...string) {
	d.Helper()
	names := map[Do]string{Grant: "Grant", Extend: "Extend", Recall: "Recall"}
	var lines []string
	for _, x := range got {
		lines = append(lines, fmt.Sprintf("%s %s %d until %v: %s", names[x.Do], x.Tenant, x.Lease, time.Duration(x.Until), x.Reason))
	}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		d.Fatalf("got %q, want %q", lines, want)
	}
}

// slice is a tenant on GPU 0 that lends and borrows.
func slice(id TenantID, permille int) Tenant {
	return Tenant{ID: id, Legs: []Leg{{"0", permille}}, Lend: true, Borrow: true}
}

func TestOneTenantAtATimeHasTheLease(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.want(d.Want(1*ms, "a"), "Grant a 1 until 21ms: Turn")
	d.want(d.Want(1*ms, "b"), "Recall a 1 until 1ms: WakingOwner")
	d.want(d.Drained(2*ms, "a", 1, 0, true), "Grant b 2 until 7ms: Reclaimed")
	d.want(d.Drained(3*ms, "b", 2, 0, false), "Grant a 3 until 23ms: Turn")
}

func TestALoneTenantIsExtendedNotRecalled(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.want(d.Want(0, "a"), "Grant a 1 until 20ms: Turn")
	next, ok := d.Next()
	if !ok || next >= 20*ms {
		t.Fatalf("Next is %v, %v; a lease is to be extended before its end", next, ok)
	}
	d.want(d.Tick(next), "Extend a 1 until 40ms: Alone")
}

func TestAReturningOwnerIsServedAtOnce(t *testing.T) {
	d := newDesk(t, slice("owner", 500), slice("guest", 500))
	d.want(d.Want(0, "guest"), "Grant guest 1 until 20ms: Turn")
	for d.now < 1000*ms {
		next, _ := d.Next()
		d.Tick(next)
	}
	now := d.now.Add(time.Millisecond)
	got := d.Want(now, "owner")
	if len(got) != 1 || got[0].Do != Recall || got[0].Tenant != "guest" {
		t.Fatalf("got %v, want the guest's lease recalled", got)
	}
	now = now.Add(2 * time.Millisecond)
	got = d.Drained(now, "guest", 1, 0, true)
	if len(got) != 1 || got[0].Do != Grant || got[0].Tenant != "owner" || got[0].Kind != Own {
		t.Fatalf("got %v, want the owner to have its own time", got)
	}
	if s := d.Stats()[0]; s.LastReclaim != 2*time.Millisecond || s.Lent == 0 {
		t.Errorf("the owner's stats are %+v, want a reclaim of 2 ms, and time lent", s)
	}
}

func TestTheNextIsGrantedJustBeforeTheWorkIsDone(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.Want(0, "a")
	d.Want(0, "b")
	d.want(d.Closing(1*ms, "a", 1, 3*ms))
	next, _ := d.Next()
	if want := Instant(2900 * time.Microsecond); next != want {
		t.Fatalf("Next is %v, want %v", next, want)
	}
	d.want(d.Tick(next), "Grant b 2 until 8ms: Reclaimed")
	// b waits until a is drained, at a's cost; and nobody else is let in.
	d.want(d.Closing(8*ms, "b", 2, 8*ms))
	d.want(d.Drained(13*ms, "a", 1, 0, true))
	if a, b := d.Stats()[0].Used, d.Stats()[1].Used; a != 13*time.Millisecond || b != 0 {
		t.Errorf("a was charged %v and b %v, want 13 ms and nothing", a, b)
	}
}

func TestALeaseThatIsNotDrainedIsTakenByForce(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.Want(0, "a")
	d.Want(0, "b")
	next, _ := d.Next()
	if next != 200*ms {
		t.Fatalf("Next is %v, want the end of the patience, 200 ms", next)
	}
	d.want(d.Tick(next), "Recall a 1 until 0s: Forced", "Grant b 2 until 220ms: Reclaimed")
	d.Drained(204*ms, "b", 2, 0, false)
	if got := d.Stats()[0].Used; got != 200*time.Millisecond {
		t.Errorf("a was charged %v, want the 200 ms before others had the GPU", got)
	}
	// It has no other lease before it is drained.
	d.want(d.Want(204*ms, "a"))
	d.want(d.Drained(300*ms, "a", 1, 0, true), "Grant a 3 until 320ms: Turn")
}

func TestALongKernelIsNotForcedWhileItIsAnnounced(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.Want(0, "a")
	d.Want(0, "b")
	d.Closing(1*ms, "a", 1, 1000*ms)
	d.want(d.Tick(500 * ms))
	// It is believed for 2 s, no longer.
	d.Closing(501*ms, "a", 1, 99000*ms)
	next, _ := d.Next()
	for next < 2200*ms {
		d.want(d.Tick(next))
		next, _ = d.Next()
	}
	d.want(d.Tick(next), "Recall a 1 until 0s: Forced", "Grant b 2 until 2.22s: Reclaimed")
}

func TestWhoDoesNotBorrowHasItsGuaranteeAlone(t *testing.T) {
	x := slice("a", 300)
	x.Borrow = false
	d := newDesk(t, x)
	d.Want(0, "a")
	number := uint64(1)
	for d.now < 10000*ms {
		next, ok := d.Next()
		if !ok {
			t.Fatal("nothing is due")
		}
		if l := d.tenants[0].lease; l != nil && next >= l.until {
			d.Tick(next)
			d.Drained(next, "a", l.number, 0, true)
			continue
		}
		if got := d.Tick(next); len(got) > 0 {
			number = got[0].Lease
		}
	}
	if used := d.Stats()[0].Used; used < 2980*time.Millisecond || used > 3020*time.Millisecond {
		t.Errorf("it had %v of 10 s, want 3 s (%d leases)", used, number)
	}
}

func TestTimeOfWhoDoesNotLendStaysUnused(t *testing.T) {
	x := slice("keeper", 500)
	x.Lend = false
	d := newDesk(t, x, slice("b", 500))
	d.Want(0, "b")
	for d.now < 10000*ms {
		next, _ := d.Next()
		d.Tick(next)
		if l := d.tenants[1].lease; l != nil && l.ended {
			d.Drained(next, "b", l.number, 0, true)
		}
	}
	if used := d.Stats()[1].Used; used < 4900*time.Millisecond || used > 5100*time.Millisecond {
		t.Errorf("b had %v of 10 s, want 5 s", used)
	}
	if s := d.Stats()[0]; s.Lent != 0 || s.Used != 0 {
		t.Errorf("the keeper's stats are %+v, want nothing lent and nothing used", s)
	}
	// It takes its turn at once when it wants to work in it.
	for d.tenants[0].lease == nil {
		next, _ := d.Next()
		d.Tick(next)
		if l := d.tenants[1].lease; l != nil && l.ended {
			d.Drained(next, "b", l.number, 0, true)
		}
	}
	if got := d.Want(d.now, "keeper"); len(got) != 1 || got[0].Do != Grant || got[0].Tenant != "keeper" {
		t.Errorf("got %v, want a grant", got)
	}
}

func TestARemovedTenantLeavesNothingBehind(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.Want(0, "a")
	d.Want(0, "b")
	d.want(d.Set(1*ms, []Tenant{slice("b", 1000)}))
	d.want(d.Drained(2*ms, "a", 1, 0, true), "Grant b 2 until 22ms: Reclaimed")
	d.want(d.Set(3*ms, nil), "Recall b 2 until 3ms: Removed")
	d.want(d.Gone(4*ms, "b"))
	if _, due := d.Next(); due || len(d.tenants) > 0 {
		t.Errorf("%d tenants remain, something due: %v", len(d.tenants), due)
	}
}

func TestANewTenantIsServedAtOnce(t *testing.T) {
	d := newDesk(t, slice("a", 500))
	d.Want(0, "a")
	d.want(d.Set(10*ms, []Tenant{slice("a", 500), slice("b", 500)}))
	d.want(d.Want(11*ms, "b"), "Recall a 1 until 11ms: WakingOwner")
}
