// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"aipub.io/aipub/api/v1alpha1"
)

// setClock is the machine's clock, which somebody may set.
type setClock struct{ by atomic.Int64 }

func (c *setClock) Now() time.Time                  { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *setClock) Since(t time.Time) time.Duration { return time.Since(t) } // by the monotonic clock

func TestAClockThatIsSetEndsNobodysTime(t *testing.T) {
	c := start(t)
	c.play(t)
	for _, step := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(step.String(), func(t *testing.T) {
			const left = 12 * time.Second
			machine := &setClock{}
			defer c.control(t, machine)()
			p := policy(0)
			p.Name = "steps"
			c.create(t, p)
			defer func() { _ = c.Delete(t.Context(), p) }()
			name := fmt.Sprintf("lab-%d", int(step.Minutes())+100)
			c.create(t, newWorkspace(name))
			c.phase(t, name, v1alpha1.PhaseRunning)
			due := c.held(t, name, int64((time.Hour-left)/time.Second)).Add(-time.Second) // times are kept in whole seconds
			machine.by.Store(int64(step))
			eventually(t, "its deadline moves", func() error {
				o := c.workspace(t, name).Status.Occupancy
				if o == nil || o.ExpiresAt == nil || o.ExpiresAt.Sub(due).Abs() < time.Minute {
					return fmt.Errorf("%+v", o)
				}
				return nil
			})
			eventually(t, "it is paused", func() error {
				if !c.workspace(t, name).Spec.Paused {
					return fmt.Errorf("not yet")
				}
				return nil
			})
			if at := time.Now(); at.Before(due) || at.After(due.Add(20*time.Second)) {
				t.Errorf("paused %s after it was due", at.Sub(due))
			}
		})
	}
}
