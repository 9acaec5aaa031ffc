// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"fmt"
	"testing"
	"time"
)

// chaos is what happens to two replicas of the controller.
type chaos struct {
	*deployment
	replicas []*replica
	// How often each thing happened.
	kills, stalls, cuts, deaths int
}

func (c *chaos) says() string {
	return fmt.Sprintf("leaders killed: %d, held up until another led: %d, cut off: %d; replicas that ended by themselves: %d", c.kills, c.stalls, c.cuts, c.deaths)
}

// until does one thing after another to the leader, each twice, and then waits until
// all is done.
func (c *chaos) until(b *testing.B, done func() bool) {
	b.Helper()
	for i := range 6 {
		leader := c.leading(b)
		was := leader.metric("aipub_gates_opened_total")
		eventually(b, "gates opened by "+leader.name, time.Minute, func() error {
			if n := leader.metric("aipub_gates_opened_total"); n < was+20 && !done() {
				return errNotYet
			}
			return nil
		})
		switch i % 3 {
		case 0:
			c.kills++
			leader.kill(b)
		case 1:
			c.stalls++
			leader.wire.stall(true)
			c.awaitOther(b, leader)
			leader.wire.stall(false) // what it had sent arrives now
		case 2:
			c.cuts++
			for range 5 {
				leader.wire.cut()
				time.Sleep(100 * time.Millisecond)
			}
		}
		c.replace(b)
	}
	eventually(b, "an end of all that wait ("+c.says()+")", 10*time.Minute, func() error {
		c.replace(b)
		if !done() {
			return errNotYet
		}
		return nil
	})
}

// leading waits for a leader of the gates.
func (c *chaos) leading(b *testing.B) (leader *replica) {
	b.Helper()
	eventually(b, "a leader", time.Minute, func() error {
		c.replace(b)
		most := 0.0
		for _, r := range c.replicas {
			if epoch := r.metric("aipub_gates_epoch"); epoch > most {
				leader, most = r, epoch
			}
		}
		if leader == nil {
			return errNotYet
		}
		return nil
	})
	return leader
}

// awaitOther waits until another replica has taken over.
func (c *chaos) awaitOther(b *testing.B, old *replica) {
	b.Helper()
	was := old.metric("aipub_gates_epoch")
	eventually(b, "another leader", time.Minute, func() error {
		for _, r := range c.replicas {
			if r != old && r.metric("aipub_gates_epoch") > was {
				return nil
			}
		}
		return errNotYet
	})
}

// replace starts a replica for each that has ended.
func (c *chaos) replace(b *testing.B) {
	b.Helper()
	for i, r := range c.replicas {
		select {
		case <-r.ended:
			r.kill(b)
			c.deaths++
			c.replicas[i] = c.replica(b)
		default:
		}
	}
}
