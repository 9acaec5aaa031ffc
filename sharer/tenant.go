// SPDX-License-Identifier: Apache-2.0

package sharer

import "time"

// Instant is a moment on the node's monotonic clock (CLOCK_MONOTONIC), in
// nanoseconds.
type Instant int64

// Add returns the moment d later.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns how much later t is than u.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// TenantID names a tenant. It is opaque to the arbiter.
type TenantID string

// Tenant is a container with all that it holds of block GPUs. A tenant with
// several legs has the lease on all of them at once or on none, so that a
// collective operation never waits for a peer that may not run.
type Tenant struct {
	ID TenantID
	// Legs are the GPUs, each once, ordered by GPU.
	Legs []Leg
	// Lend lets others use the time that it leaves idle; otherwise that time
	// stays unused.
	Lend bool
	// Borrow lets it use time beyond its guarantee.
	Borrow bool
	// MaxPermille is the most of each GPU's time that it may use with what it
	// borrows; less than a leg's guarantee means that guarantee, 0 the whole GPU.
	MaxPermille int
}

// Leg is a tenant's guarantee on one GPU, in thousandths of the GPU's time.
type Leg struct {
	GPU      string
	Permille int
}

// Kind says on whose account a lease is.
type Kind int

// The kinds of leases.
const (
	// Own is within the tenant's guarantee.
	Own Kind = iota + 1
	// Borrowed is time that others leave idle; it is recalled when they want it.
	Borrowed
)

// Do is what an Action asks for.
type Do int

// What is to be done.
const (
	// Grant gives the tenant the lease until Until.
	Grant Do = iota + 1
	// Extend moves the end of the lease that the tenant has to Until.
	Extend
	// Recall ends the lease now: the tenant is to issue nothing more, and to say
	// Drained when nothing is in flight.
	Recall
)

// Reason says why an Action is asked for.
type Reason string

// The reasons of actions.
const (
	// Turn grants: nobody who waits is further behind its share.
	Turn Reason = "Turn"
	// Reclaimed grants a tenant that woke with credit while another had the GPU.
	Reclaimed Reason = "Reclaimed"
	// StillFirst extends: whoever waits is not yet further behind.
	StillFirst Reason = "StillFirst"
	// Alone extends: nobody waits.
	Alone Reason = "Alone"
	// WakingOwner recalls from a tenant that is ahead of its share, for one that
	// is owed time.
	WakingOwner Reason = "WakingOwner"
	// Removed recalls: the tenant is no longer in the set, or has other GPUs.
	Removed Reason = "Removed"
	// Forced recalls, for the record, a lease that was not drained in time. Others
	// have the GPU from now on; the tenant gets nothing until it says Drained.
	Forced Reason = "Forced"
)

// Action is one thing that the caller of the arbiter is to do, at once and in
// order.
type Action struct {
	Do     Do
	Tenant TenantID
	// Lease counts the leases of all tenants; each Grant has a new one.
	Lease  uint64
	Kind   Kind
	Until  Instant
	Reason Reason
}
