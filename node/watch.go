// SPDX-License-Identifier: Apache-2.0

package node

import "sync"

// Watch returns a channel that is ready whenever the snapshot may have changed
// since it was last received from, and at once after the call. Any number of
// changes are one notification, so a watcher that is slow or gone holds up
// nobody. stop ends the watch; the channel is never closed.
func (s *State) Watch() (changed <-chan struct{}, stop func()) {
	ch := make(chan struct{}, 1)
	ch <- struct{}{}
	s.mu.Lock()
	s.watchers[ch] = struct{}{}
	s.mu.Unlock()
	return ch, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, ch)
	})
}

// notify wakes all watchers. s.mu is held.
func (s *State) notify() {
	for ch := range s.watchers {
		select {
		case ch <- struct{}{}:
		default: // one is waiting already
		}
	}
}
