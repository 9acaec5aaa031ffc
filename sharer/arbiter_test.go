// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math"
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

// grant is the line for a lease given at a moment among n who want the GPU.
func (d desk) grant(id TenantID, number uint64, at Instant, n int, why Reason) string {
	return fmt.Sprintf("Grant %s %d until %v: %s", id, number, time.Duration(at.Add(d.config.quantum(n))), why)
}

// slice is a tenant on GPU 0 that lends and borrows.
func slice(id TenantID, permille int) Tenant {
	return Tenant{ID: id, Legs: []Leg{{"0", permille}}, Lend: true, Borrow: true}
}

func TestOneTenantAtATimeHasTheLease(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.want(d.Want(1*ms, "a"), d.grant("a", 1, 1*ms, 1, Turn))
	d.want(d.Want(1*ms, "b"), "Recall a 1 until 1ms: WakingOwner")
	d.want(d.Drained(2*ms, "a", 1, 0, true), d.grant("b", 2, 2*ms, 2, Reclaimed))
	d.want(d.Drained(3*ms, "b", 2, 0, false), d.grant("a", 3, 3*ms, 1, Turn))
}

func TestALoneTenantIsExtendedNotRecalled(t *testing.T) {
	d := newDesk(t, slice("a", 500), slice("b", 500))
	d.want(d.Want(0, "a"), d.grant("a", 1, 0, 1, Turn))
	next, ok := d.Next()
	if !ok || next >= Instant(d.config.quantum(1)) {
		t.Fatalf("Next is %v, %v; a lease is to be extended before its end", next, ok)
	}
	d.want(d.Tick(next), fmt.Sprintf("Extend a 1 until %v: Alone", 2*d.config.quantum(1)))
}

func TestAReturningOwnerIsServedAtOnce(t *testing.T) {
	d := newDesk(t, slice("owner", 500), slice("guest", 500))
	d.want(d.Want(0, "guest"), d.grant("guest", 1, 0, 1, Turn))
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
	d.want(d.Tick(next), d.grant("b", 2, 3*ms, 2, Reclaimed))
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
	d.want(d.Tick(next), "Recall a 1 until 0s: Forced", d.grant("b", 2, next, 1, Reclaimed))
	d.Drained(204*ms, "b", 2, 0, false)
	if got := d.Stats()[0].Used; got != 200*time.Millisecond {
		t.Errorf("a was charged %v, want the 200 ms before others had the GPU", got)
	}
	// It has no other lease before it is drained.
	d.want(d.Want(204*ms, "a"))
	d.want(d.Drained(300*ms, "a", 1, 0, true), d.grant("a", 3, 300*ms, 1, Turn))
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
	d.want(d.Tick(next), "Recall a 1 until 0s: Forced", d.grant("b", 2, next, 1, Reclaimed))
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
	d.want(d.Drained(2*ms, "a", 1, 0, true), d.grant("b", 2, 2*ms, 1, Reclaimed))
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

// TestWhoSpendsItsBankLeavesOthersTheirs lets two wake beside a guest.
func TestWhoSpendsItsBankLeavesOthersTheirs(t *testing.T) {
	for _, both := range []bool{false, true} {
		d := newDesk(t, slice("guest", 800), slice("a", 100), slice("b", 100))
		d.Want(0, "guest")
		for d.now < 1000*ms {
			next, _ := d.Next()
			d.Tick(next)
		}
		d.Want(d.now, "a")
		if both {
			d.Want(d.now, "b")
		}
		got := d.Drained(d.now.Add(time.Millisecond), "guest", 1, 0, true)
		if len(got) != 1 || got[0].Do != Grant || got[0].Tenant != "a" {
			t.Fatalf("got %v, want a to be first", got)
		}
		most := d.config.quantum(2)
		if both {
			most = time.Duration(d.config.bank(0.1))
		}
		if length := got[0].Until.Sub(d.now); length > most || !both && length < most {
			t.Errorf("b waits too: %v: a has a turn of %v, want at most %v", both, length, most)
		}
	}
}

// TestWhoHasHadItsShareIsRecalled lets an owner wake just after the turn of
// somebody has begun who was behind its share then.
func TestWhoHasHadItsShareIsRecalled(t *testing.T) {
	d := newDesk(t, slice("a", 400), slice("b", 400), slice("owner", 200))
	a := d.tenants[0]
	d.Want(0, "a")
	d.Want(0, "b")
	for begun := false; d.now < 10000*ms && (d.now < 1000*ms || !begun); {
		next, _ := d.Next()
		got := d.Tick(next)
		for _, x := range d.tenants {
			if l := x.lease; l != nil && l.ended {
				got = d.Drained(d.now, x.ID, l.number, 0, true)
			}
		}
		begun = len(got) == 1 && got[0].Do == Grant && got[0].Tenant == "a"
	}
	l := a.lease
	end := l.until
	d.want(d.Want(d.now+1, "owner"))
	for !l.ended && d.now < 20000*ms {
		next, _ := d.Next()
		d.Tick(next)
	}
	if early := end.Sub(l.until); early < time.Millisecond || math.Abs(a.seats[0].lag) > float64(10*time.Microsecond) {
		t.Errorf("a's turn ended %v early, when it was owed %v ns, want it recalled once that is nothing", early, a.seats[0].lag)
	}
}

// TestAllBearWhatAChangeCosts compares the accounts after a grant that follows a
// whole turn of another, and one that follows less.
func TestAllBearWhatAChangeCosts(t *testing.T) {
	for _, whole := range []bool{true, false} {
		d := newDesk(t, slice("a", 500), slice("b", 500))
		d.Want(0, "a")
		d.Want(0, "b")
		d.Drained(1*ms, "a", 1, 0, true)
		b := d.tenants[1].lease
		for !b.ended && (whole || d.now == 1*ms) {
			next, _ := d.Next()
			d.Tick(next)
		}
		// It is not over yet, and then it is.
		d.Closing(d.now, "b", b.number, d.now.Add(time.Second))
		before := d.tenants[0].seats[0].lag
		got := d.Closing(d.now, "b", b.number, d.now)
		if len(got) != 1 || got[0].Tenant != "a" {
			t.Fatalf("got %v, want a's turn", got)
		}
		want := 0.0
		if whole {
			want = 0.5 * float64(d.config.Change)
		}
		if had := d.tenants[0].seats[0].lag - before; math.Abs(had-want) > 1 {
			t.Errorf("a whole turn of b: %v: a was given %v ns, want %v", whole, had, want)
		}
	}
}

func TestWhoFollowsItselfMakesNoChange(t *testing.T) {
	d := newDesk(t, slice("a", 900), slice("b", 100))
	d.Want(0, "b")
	d.Want(0, "a")
	d.Drained(1*ms, "b", 1, 0, true)
	a := d.tenants[0].lease
	d.Tick(a.until) // too late to extend it
	before := d.tenants[0].seats[0].lag
	got := d.Drained(a.until, "a", a.number, 0, true)
	if len(got) != 1 || got[0].Tenant != "a" {
		t.Fatalf("got %v, want another turn of a", got)
	}
	if had := d.tenants[0].seats[0].lag - before; math.Abs(had) > 1 {
		t.Errorf("a was given %v ns, want nothing", had)
	}
}
