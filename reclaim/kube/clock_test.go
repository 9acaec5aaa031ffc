// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestAClockThatWasSetBeforeItsProcessLedMovesNothing sets it while another led.
func TestAClockThatWasSetBeforeItsProcessLedMovesNothing(t *testing.T) {
	machine := clocktesting.NewFakePassiveClock(noon)
	c := NewClock(machine)
	machine.SetTime(noon.Add(-hour))
	if step := c.Step(); step != 0 {
		t.Errorf("it says that it was set by %s", step)
	}
	if now := c.Now(); !now.Equal(noon.Add(-hour)) {
		t.Errorf("it is %s, the machine's says %s", now, noon.Add(-hour))
	}
}

func TestANotebookServerIsAskedAgainAfterTheClockWasSetBack(t *testing.T) {
	now := noon
	j := NewJupyter(func() time.Time { return now })
	j.known["there"] = &asked{next: noon.Add(askEvery), asking: false}
	now = noon.Add(-24 * hour)
	j.slots = nil // whoever asks waits for ever
	j.Of(t.Context(), "there", "")
	if !j.known["there"].asking {
		t.Error("it waits for a time a day away")
	}
}
