// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// wire stands between one replica and the API server. It can stall, as a network or
// a busy server does: nothing gets through, and nobody is told.
type wire struct {
	listener net.Listener
	server   string
	mu       sync.Mutex
	flows    *sync.Cond
	stalled  bool
	closed   bool
	open     map[net.Conn]bool
}

func newWire(b *testing.B, host string) *wire {
	b.Helper()
	_, server, ok := strings.Cut(host, "://")
	if !ok {
		server = host
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	w := &wire{listener: l, server: strings.TrimSuffix(server, "/"), open: map[net.Conn]bool{}}
	w.flows = sync.NewCond(&w.mu)
	go w.accept()
	b.Cleanup(w.close)
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.open[near], w.open[far] = true, true
		w.mu.Unlock()
		go w.carry(near, far)
		go w.carry(far, near)
	}
}

// carry takes bytes one way until either side ends.
func (w *wire) carry(from, to net.Conn) {
	defer func() { _, _ = from.Close(), to.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for w.stalled && !w.closed {
			w.flows.Wait()
		}
		w.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// stall holds up everything, or lets it flow again.
func (w *wire) stall(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stalled = yes
	w.flows.Broadcast()
}

// cut ends all connections; new ones may be made. Answers under way are lost.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
	clear(w.open)
}

func (w *wire) close() {
	_ = w.listener.Close()
	w.mu.Lock()
	w.closed = true
	w.flows.Broadcast()
	w.mu.Unlock()
	w.cut()
}
