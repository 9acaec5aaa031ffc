// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"slices"
	"time"

	"aipub.io/aipub/gpu"
)

// scope is the hardware that a finding is about; -1 as in Event.
type scope struct {
	gpu    string
	gi, ci int
}

func wholeGPU(uuid string) scope { return scope{uuid, -1, -1} }

// fault is one unhealthy scope.
type fault struct {
	health gpu.Health
	// lost faults end when the GPU answers again; others need the driver's
	// word that no recovery is needed.
	lost bool
	// goodSince is when the hardware was first found fit again; zero before.
	goodSince time.Time
}

// probe is what a look at a GPU found.
type probe struct {
	gpu string
	// lost: the device does not exist any more. slow: it did not answer in
	// time. unloaded: the whole driver is gone. None: it answered.
	lost, slow, unloaded bool
	recovery             recovery
}

// tracker decides from findings what is healthy. It is pure: time is handed in.
//
// A scope becomes unhealthy at once, and healthy again only after it was found
// fit at every probe for the whole of stable. A GPU whose driver does not tell a
// recovery action stays unhealthy after a critical error until the agent
// starts anew: nothing else says that it was reset.
type tracker struct {
	stable time.Duration
	rules  xidRules
	faults map[scope]*fault
	slow   map[string]int  // consecutive probes without an answer
	told   map[string]bool // GPUs whose health was told at least once
}

func newTracker(stable time.Duration, rules xidRules) *tracker {
	return &tracker{stable: stable, rules: rules, faults: map[scope]*fault{}, slow: map[string]int{}, told: map[string]bool{}}
}

// xid takes an Xid with the recovery action that was read right after it. The
// operator's lists come first, then the catalogue, then the recovery action;
// where the driver tells none, an unknown Xid is critical.
func (t *tracker) xid(where scope, xid uint64, r recovery) []Event {
	class := t.rules.classify(xid)
	if class == xidIgnored || class == xidApplication || class == xidUnknown && r.clear() {
		return nil
	}
	return t.bad(where, ReasonXid, withAdvice(xidText(xid), r))
}

// hardware takes an error event that is not an Xid.
func (t *tracker) hardware(where scope, reason, text string, r recovery) []Event {
	if r.clear() {
		return nil
	}
	return t.bad(where, reason, withAdvice(text, r))
}

// action takes a recovery action that the driver announced by itself.
func (t *tracker) action(where scope, r recovery) []Event {
	if !r.needed() {
		return nil
	}
	text := r.text()
	return t.bad(where, text.reason, "the driver asks for recovery: "+text.advice)
}

// withAdvice adds what the driver says must be done.
func withAdvice(text string, r recovery) string {
	if !r.needed() {
		return text
	}
	return fmt.Sprintf("%s: %s", text, r.text().advice)
}

// probed takes the result of a probe. The first of a GPU tells its health even
// if it is good: whoever listens may remember a fault from an earlier watch.
func (t *tracker) probed(now time.Time, p probe) []Event {
	events := t.judge(now, p)
	if p.slow || t.told[p.gpu] {
		return events
	}
	t.told[p.gpu] = true
	if !t.faulty(p.gpu) {
		events = append(events, healthEvent(wholeGPU(p.gpu), gpu.Health{OK: true}))
	}
	return events
}

// judge turns the result of a probe into changes.
func (t *tracker) judge(now time.Time, p probe) []Event {
	if p.slow {
		t.slow[p.gpu]++
		t.relapse(p.gpu)
		if t.slow[p.gpu] < 2 {
			return nil // one late answer may be a long call of somebody else
		}
		return t.gone(p.gpu, ReasonNotResponding, "the driver does not answer for this GPU")
	}
	t.slow[p.gpu] = 0
	if p.lost {
		t.relapse(p.gpu)
		return t.gone(p.gpu, ReasonLost, "the GPU has fallen off the bus; drain the node, then reboot it")
	}
	if p.recovery.needed() {
		t.relapse(p.gpu)
		if t.faulty(p.gpu) {
			return nil // explained already, perhaps by one instance only
		}
		return t.action(wholeGPU(p.gpu), p.recovery)
	}
	return t.heal(now, p)
}

// gone marks a whole GPU that cannot be reached.
func (t *tracker) gone(uuid, reason, message string) []Event {
	events := t.bad(wholeGPU(uuid), reason, message)
	t.faults[wholeGPU(uuid)].lost = true
	return events
}

// heal ends the faults of a GPU that have been fit for long enough.
func (t *tracker) heal(now time.Time, p probe) []Event {
	var events []Event
	for _, s := range t.scopes(p.gpu) {
		f := t.faults[s]
		if !f.lost && !p.recovery.clear() {
			continue
		}
		if f.goodSince.IsZero() {
			f.goodSince = now
		}
		if now.Sub(f.goodSince) < t.stable {
			continue
		}
		delete(t.faults, s)
		events = append(events, healthEvent(s, gpu.Health{OK: true}))
	}
	return events
}

// bad marks a scope; it tells nothing new about one that is marked alike, nor
// about a GPU that is lost: the errors that announced the loss may come late.
func (t *tracker) bad(s scope, reason, message string) []Event {
	health := gpu.Health{Reason: reason, Message: message}
	f := t.faults[s]
	if f != nil && f.health.Reason == ReasonLost {
		f.goodSince = time.Time{}
		return nil
	}
	if f == nil {
		f = &fault{}
		t.faults[s] = f
	}
	f.goodSince = time.Time{}
	if f.health == health {
		return nil
	}
	f.health, f.lost = health, false
	return []Event{healthEvent(s, health)}
}

// relapse starts the waiting time of a GPU's faults anew.
func (t *tracker) relapse(uuid string) {
	for _, s := range t.scopes(uuid) {
		t.faults[s].goodSince = time.Time{}
	}
}

// forget drops the faults of a GPU's instances after its partitioning changed:
// instance numbers are given out anew.
func (t *tracker) forget(uuid string, exists func(gi int) bool) []Event {
	var events []Event
	for _, s := range t.scopes(uuid) {
		if s.gi >= 0 && !exists(s.gi) {
			delete(t.faults, s)
			events = append(events, healthEvent(s, gpu.Health{OK: true}))
		}
	}
	return events
}

func (t *tracker) faulty(uuid string) bool { return len(t.scopes(uuid)) > 0 }

// scopes lists a GPU's faults, the whole GPU first.
func (t *tracker) scopes(uuid string) []scope {
	var out []scope
	for s := range t.faults {
		if s.gpu == uuid {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b scope) int {
		if a.gi != b.gi {
			return a.gi - b.gi
		}
		return a.ci - b.ci
	})
	return out
}

func healthEvent(s scope, h gpu.Health) Event {
	return Event{Kind: HealthChanged, GPU: s.gpu, GIID: s.gi, CIID: s.ci, Health: h}
}
