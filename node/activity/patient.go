// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"sync"
	"time"
)

// patient calls what may never return. It waits for each call up to a limit, and
// starts no other for the same container, nor more than most in all, while one
// is out. Calls that hang end with the container that makes them hang.
type patient struct {
	limit time.Duration
	most  int

	mu  sync.Mutex
	out map[string]bool
}

// read is what f returns; nil when that is an error, or not in time.
func (p *patient) read(container string, f func() (Terminals, error)) Terminals {
	if !p.enter(container) {
		return nil
	}
	done := make(chan Terminals, 1)
	go func() {
		t, err := f()
		if err != nil {
			t = nil
		}
		p.leave(container) // before the caller can ask again
		done <- t
	}()
	timeout := time.NewTimer(p.limit)
	defer timeout.Stop()
	select {
	case t := <-done:
		return t
	case <-timeout.C:
		return nil
	}
}

func (p *patient) enter(container string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out[container] || len(p.out) >= p.most {
		return false
	}
	if p.out == nil {
		p.out = map[string]bool{}
	}
	p.out[container] = true
	return true
}

func (p *patient) leave(container string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.out, container)
}
