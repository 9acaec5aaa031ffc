// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"slices"
	"time"
)

// What names the method of Arbiter that an Event was told with.
type What string

// The kinds of events.
const (
	EventSet     What = "Set"
	EventWant    What = "Want"
	EventClosing What = "Closing"
	EventDrained What = "Drained"
	EventGone    What = "Gone"
	EventTick    What = "Tick"
)

// Event is something that an arbiter was told: the arguments of the method.
type Event struct {
	At      Instant       `json:"at"` // as the arbiter took it, never before the event before
	What    What          `json:"what"`
	Tenant  TenantID      `json:"tenant,omitempty"`
	Lease   uint64        `json:"lease,omitempty"`
	Done    Instant       `json:"done,omitempty"`
	Used    time.Duration `json:"used,omitempty"`
	Wants   bool          `json:"wants,omitempty"`
	Tenants []Tenant      `json:"tenants,omitempty"`
}

// Entry is an event and what the arbiter asked for because of it. Entries encoded
// as lines of JSON are a record of all that an arbiter did.
type Entry struct {
	Event
	Actions []Action `json:"actions,omitempty"`
}

// answer does what is due after an event.
func (a *Arbiter) answer(e Event) []Action {
	actions := a.decide()
	if a.config.Record != nil {
		e.At = a.now
		a.config.Record(Entry{e, actions})
	}
	return actions
}

// Apply tells the arbiter an event. One of an unknown kind is a Tick.
func (a *Arbiter) Apply(e Event) []Action {
	switch e.What {
	case EventSet:
		return a.Set(e.At, e.Tenants)
	case EventWant:
		return a.Want(e.At, e.Tenant)
	case EventClosing:
		return a.Closing(e.At, e.Tenant, e.Lease, e.Done)
	case EventDrained:
		return a.Drained(e.At, e.Tenant, e.Lease, e.Used, e.Wants)
	case EventGone:
		return a.Gone(e.At, e.Tenant)
	default:
		return a.Tick(e.At)
	}
}

// Replay tells a new arbiter what is on record, and says where it answers
// otherwise than the recorded one did. The record must be whole, from the first
// event on, and the config the same.
func Replay(c Config, record []Entry) error {
	a := New(c)
	for i, e := range record {
		if got := a.Apply(e.Event); !slices.Equal(got, e.Actions) {
			return fmt.Errorf("replay entry %d, %s of %q at %v: %v, on record are %v", i, e.What, e.Tenant, time.Duration(e.At), got, e.Actions)
		}
	}
	return nil
}
