// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// wire stands between a leader and the API server, and loses, delays and holds back
// its openings as a network and a busy server do.
type wire struct {
	next http.RoundTripper
	// treat says what becomes of an opening; nil: it goes through.
	treat atomic.Pointer[func(*http.Request) fate]
	mu    sync.Mutex
	// held are openings that were held back, to be delivered at will.
	held []*http.Request
	// late counts deliveries under way.
	late sync.WaitGroup
	// sent counts openings, by fate.
	sent map[fate]int
}

// fate is what becomes of a request.
type fate int

const (
	through  fate = iota
	lost          // it never arrives, and the sender hears nothing good
	answered      // it arrives, and its answer is lost
	late          // the sender hears of a failure, and then it arrives
	held          // the sender hears of a failure; it arrives when the test says so
)

var errWire = errors.New("the connection broke")

func newWire() *wire { return &wire{sent: map[fate]int{}} }

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	w.next = next
	return w
}

// set has openings treated in some way from now on.
func (w *wire) set(treat func(*http.Request) fate) {
	if treat == nil {
		w.treat.Store(nil)
		return
	}
	w.treat.Store(&treat)
}

// isOpening reports whether a request opens a gate.
func isOpening(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/pods/") && !strings.HasSuffix(r.URL.Path, "/status") && !strings.HasSuffix(r.URL.Path, "/resize")
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	treat := w.treat.Load()
	if treat == nil || !isOpening(r) {
		return w.next.RoundTrip(r)
	}
	f := (*treat)(r)
	w.mu.Lock()
	w.sent[f]++
	w.mu.Unlock()
	switch f {
	case lost:
		return nil, errWire
	case answered:
		return w.deliverNow(r)
	case late:
		w.deliverLate(copyOf(r), 30*time.Millisecond)
		return nil, errWire
	case held:
		again := copyOf(r)
		w.mu.Lock()
		w.held = append(w.held, again)
		w.mu.Unlock()
		return nil, errWire
	case through:
	}
	// It arrives even if its sender has given up by now.
	return w.next.RoundTrip(copyOf(r))
}

func (w *wire) deliverNow(r *http.Request) (*http.Response, error) {
	if response, err := w.next.RoundTrip(r); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	return nil, errWire
}

func (w *wire) deliverLate(r *http.Request, after time.Duration) {
	w.late.Go(func() {
		time.Sleep(after)
		_, _ = w.deliverNow(r)
	})
}

// release delivers everything that was held back, and returns the status codes of
// the answers.
func (w *wire) release() []int {
	w.mu.Lock()
	requests := w.held
	w.held = nil
	w.mu.Unlock()
	var codes []int
	for _, r := range requests {
		response, err := w.next.RoundTrip(r)
		if err != nil {
			codes = append(codes, 0)
			continue
		}
		codes = append(codes, response.StatusCode)
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	return codes
}

func (w *wire) holding() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.held)
}

func (w *wire) count(f fate) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[f]
}

// copyOf makes a request that outlives its sender.
func copyOf(r *http.Request) *http.Request {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		body = nil
	}
	again := r.Clone(context.WithoutCancel(r.Context()))
	again.Body = io.NopCloser(bytes.NewReader(body))
	return again
}
