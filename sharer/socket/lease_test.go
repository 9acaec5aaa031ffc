// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer/socket"
)

// A process that idles gives the lease back; no process may be in the way.
func TestIdleLeaseIsGivenBack(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	r.set(block("a", 500), block("b", 500))
	a, second, b := r.attached("a"), r.attached("a"), r.attached("b")
	second.do("busy")
	a.lease()
	a.do("drained 0 100")
	// The other process of a is at work: the lease stays.
	if got := a.do("nolease 0"); got == "lease 0" {
		t.Fatal("the lease went while a process was at work under it")
	}
	second.do("idle")
	second.do("drained 0 100")
	b.lease()
}

// A process does not use a lease twice. One that gave its part back while another
// works on gets a new turn when it wants to work again.
func TestReturnedLeaseIsRenewed(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	r.set(block("a", 500))
	a, second := r.attached("a"), r.attached("a")
	second.do("busy")
	a.lease()
	turn := r.grant("a").Turn
	a.do("drained 0 100")
	a.do("waiting 1")
	a.do("want")
	r.eventually("the lease has a new turn", func() bool { return r.grant("a").Turn != turn })
	a.lease()
	if n := r.tenant("a").Leases; n != 1 {
		t.Errorf("the tenant had %d leases, want the one", n)
	}
}

// Without any packet a lease of which nobody makes use is given back as well.
func TestUnusedLeaseIsGivenBack(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	r.set(block("a", 500), block("b", 500))
	r.attached("a").do("want")
	r.eventually("a has the lease", func() bool { return r.tenant("a").Leases == 1 })
	r.attached("b").lease()
}

// The only process dies with the lease.
func TestDeathEndsTheLease(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	r.set(block("a", 500), block("b", 500))
	a, b := r.attached("a"), r.attached("b")
	a.do("busy")
	a.lease()
	a.kill()
	b.lease()
	if k := r.grant("a").LeaseKind; k != 0 {
		t.Errorf("the grant of the dead tenant says lease %d", k)
	}
}

// A tenant with slices on two GPUs has both or none.
func TestTwoGPUs(t *testing.T) {
	r := newRig(t, patient, func(c *socket.Config) { c.Arbiter.Quantum = time.Hour; c.Arbiter.Round = 10 * time.Hour })
	a1, a2, b := block("a1", 500), block("a2", 500), block("b", 500)
	a2.GPU, b.GPU = gpuB, gpuB
	a2.Tenant = a1.Tenant
	r.set(a1, a2, b)
	cb := r.attached("b")
	cb.do("busy")
	cb.lease()
	ca := r.attached("a1")
	ca.do("waiting 1")
	ca.do("want")
	cb.do("idle")
	cb.do("drained 0 100")
	ca.lease()
	r.eventually("the second slice has the lease too", func() bool { return r.grant("a2").LeaseKind != 0 })
	if k := r.grant("b").LeaseKind; k != 0 {
		t.Error("two leases on one GPU")
	}
}

// Nobody needs a lease where compute is not limited.
func TestWithoutComputeLimit(t *testing.T) {
	r := newRig(t)
	free := block("free", 0)
	r.set(free, block("a", 1000))
	r.attached("free").do("want")
	r.attached("a").lease()
	if len(r.View().Tenants) != 1 {
		t.Errorf("tenants are %+v, want only that of a", r.View().Tenants)
	}
}

// Tenants that work all the time are never at it together.
func TestNeverTwoAtATime(t *testing.T) {
	r := newRig(t, patient)
	r.set(block("a", 250), block("b", 250), block("c", 500))
	var working []*client
	for _, id := range []string{"a", "b", "c"} {
		working = append(working, r.attached(id))
		r.attached(id) // idles; processes of one tenant would share its lease
	}
	for _, c := range working {
		c.tell("work 100 500")
	}
	for _, c := range working {
		if got := c.answer(); !strings.HasSuffix(got, "done") {
			t.Errorf("work ended with %q", got)
		}
	}
	if n := r.overlaps(); n != 0 {
		t.Errorf("two were at work at the same time, %d times", n)
	}
	reclaims := uint64(0)
	for _, v := range r.View().Tenants {
		for _, n := range v.Reclaims {
			reclaims += n
		}
	}
	if reclaims == 0 {
		t.Error("no reclaim was counted")
	}
}
