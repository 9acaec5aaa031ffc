// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"aipub.io/aipub/test/gpusim"
)

// watched is a running watch on a simulated machine with a clock of its own.
type watched struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	events chan Event
	names  map[string]string // UUID → "gpu0"
	stop   func()            // ends the watch, once
	done   chan error        // gives what Watch returned
}

const (
	probeEvery = 10 * time.Second
	stableFor  = 30 * time.Second
	patience   = 10 * time.Second
)

func startWatch(t *testing.T, d *Driver, c WatchConfig) *watched {
	t.Helper()
	w := &watched{
		t:      t,
		clock:  clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		events: make(chan Event, 100),
		names:  map[string]string{},
	}
	for _, g := range mustInventory(t, d).GPUs {
		w.names[g.UUID] = fmt.Sprintf("gpu%d", g.Index)
	}
	c.Clock, c.ProbeEvery, c.StableFor = w.clock, probeEvery, stableFor
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	w.done = done
	go func() { done <- d.Watch(ctx, c, func(e Event) { w.events <- e }) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("watch: %v", err)
			}
		case <-time.After(patience):
			t.Error("watch does not end")
		}
	})
	t.Cleanup(w.stop)
	w.awaitTicker()
	for range w.names { // each GPU's health is told once
		e := <-w.events
		if !e.Health.OK {
			t.Fatalf("first event %q", w.text(e))
		}
	}
	return w
}

// awaitTicker waits until the watch has registered and runs on the clock.
func (w *watched) awaitTicker() {
	w.t.Helper()
	for end := time.Now().Add(patience); !w.clock.HasWaiters(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("watch does not start")
		}
	}
}

func (w *watched) text(e Event) string {
	name := w.names[e.GPU]
	if e.GIID >= 0 {
		name += fmt.Sprintf("/gi%d/ci%d", e.GIID, e.CIID)
	}
	if e.Kind == MIGChanged {
		return name + " MIG"
	}
	if e.Health.OK {
		return name + " ok"
	}
	return name + " " + e.Health.Reason
}

// expect waits for the next event.
func (w *watched) expect(want string) Event {
	w.t.Helper()
	select {
	case e := <-w.events:
		if got := w.text(e); got != want {
			w.t.Fatalf("event %q (%s), want %q", got, e.Health.Message, want)
		}
		return e
	case <-time.After(patience):
		w.t.Fatalf("no event, want %q", want)
		return Event{}
	}
}

// expectAmong waits for an event and passes over another kind.
func (w *watched) expectAmong(want, other string) {
	w.t.Helper()
	for {
		select {
		case e := <-w.events:
			switch got := w.text(e); got {
			case want:
				return
			case other:
			default:
				w.t.Fatalf("event %q, want %q", got, want)
			}
		case <-time.After(patience):
			w.t.Fatalf("no event, want %q", want)
		}
	}
}

// advanceUntil moves the clock by probes until an event comes, which must be
// the wanted one, and returns how far it moved.
func (w *watched) advanceUntil(want string) time.Duration {
	w.t.Helper()
	var moved time.Duration
	for end := time.Now().Add(patience); time.Now().Before(end); {
		w.clock.Step(probeEvery)
		moved += probeEvery
		select {
		case e := <-w.events:
			if got := w.text(e); got != want {
				w.t.Fatalf("event %q, want %q", got, want)
			}
			return moved
		case <-time.After(100 * time.Millisecond):
		}
	}
	w.t.Fatalf("no event, want %q", want)
	return 0
}

// expectNone makes sure that nothing was told before a marker event.
func (w *watched) expectNone(m *gpusim.Machine) {
	w.t.Helper()
	m.Ctl("mig-event", "0")
	w.expect("gpu0 MIG")
}

func TestWatchTellsApartXids(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	w := startWatch(t, d, WatchConfig{IgnoreXids: []uint64{94}, CriticalXids: []uint64{31}})
	m.Ctl("xid", "1", "13") // a program's fault
	m.Ctl("xid", "1", "94") // ignored by the operator
	w.expectNone(m)
	m.Ctl("xid", "1", "31") // critical by the operator
	w.expect("gpu1 XidCritical")
}

func TestWatchReportsRecovery(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	w := startWatch(t, d, WatchConfig{})
	m.Ctl("recovery-action", "2", "drain-reset")
	e := w.expect("gpu2 DrainAndResetRequired")
	if e.GIID != -1 || e.CIID != -1 || e.Health.Message == "" {
		t.Errorf("event %+v", e)
	}
	w.clock.Step(probeEvery)
	w.expectNone(m)
	m.Ctl("reset", "2")
	if moved := w.advanceUntil("gpu2 ok"); moved < stableFor {
		t.Errorf("healthy again after %v, want at least %v", moved, stableFor)
	}
}

func TestWatchFindsLostGPU(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	w := startWatch(t, d, WatchConfig{})
	m.Ctl("lose", "0")
	first := w.text(<-w.events)
	if first == "gpu0 XidCritical" { // the Xid came before the probe
		w.expect("gpu0 DeviceLost")
	} else if first != "gpu0 DeviceLost" {
		t.Fatalf("event %q", first)
	}
	m.Ctl("recover", "0")
	w.advanceUntil("gpu0 ok")
	m.Ctl("recovery-action", "0", "reset") // without a probe: its events arrive again
	w.expect("gpu0 GPUResetRequired")
}

func TestWatchEndsWithTheDriver(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	w := startWatch(t, d, WatchConfig{})
	w.expectNone(m)
	m.Ctl("reboot")
	w.clock.Step(probeEvery)
	select {
	case err := <-w.done:
		if !errors.Is(err, ErrUnloaded) {
			t.Errorf("watch ended with %v", err)
		}
		w.done <- nil
	case e := <-w.events:
		t.Errorf("event %q", w.text(e))
	case <-time.After(patience):
		t.Error("watch goes on")
	}
}

func TestWatchNarrowsToInstance(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	g := mustInventory(t, d).GPUs[0]
	inst := makeInstance(t, d, g, "1g.18gb", 4)
	w := startWatch(t, d, WatchConfig{})
	m.Ctl("recovery-action", "0", "none")
	m.Ctl("xid", "0", "999", "--gi", fmt.Sprint(inst.GIID), "--ci", fmt.Sprint(inst.CIID))
	w.expectNone(m) // the driver says that nothing is needed
	w.stop()

	w = startWatch(t, d, WatchConfig{CriticalXids: []uint64{999}})
	m.Ctl("xid", "0", "999", "--gi", fmt.Sprint(inst.GIID), "--ci", fmt.Sprint(inst.CIID))
	w.expect(fmt.Sprintf("gpu0/gi%d/ci%d XidCritical", inst.GIID, inst.CIID))
	destroyInstance(t, d, inst)
	// Each of the two removals is a change of the partitioning; the second ends
	// the instance, and its fault with it.
	w.expectAmong(fmt.Sprintf("gpu0/gi%d/ci%d ok", inst.GIID, inst.CIID), "gpu0 MIG")
}

func TestWatchNoticesVanishedGPUWithoutEvent(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	w := startWatch(t, d, WatchConfig{})
	w.expectNone(m)
	m.Ctl("fail", "DeviceGetFieldValues", "GPU_IS_LOST")
	w.clock.Step(probeEvery)
	seen := map[string]bool{}
	for range 3 {
		seen[w.text(<-w.events)] = true
	}
	for _, want := range []string{"gpu0 DeviceLost", "gpu1 DeviceLost", "gpu2 DeviceLost"} {
		if !seen[want] {
			t.Errorf("no event %q in %v", want, seen)
		}
	}
}

func TestWatchWithGPUsThatSupportNoEvents(t *testing.T) {
	d, m := openSim(t, gpusim.ThreeH200)
	m.Ctl("fail", "DeviceGetSupportedEventTypes", "NOT_SUPPORTED", "--times", "1")
	w := startWatch(t, d, WatchConfig{})
	m.Ctl("recovery-action", "0", "reset") // of the GPU without events: a probe finds it
	w.advanceUntil("gpu0 GPUResetRequired")
	m.Ctl("recovery-action", "1", "reboot")
	w.expect("gpu1 RebootRequired")
}
