// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/deviceplugin/kubelet"
)

// presence notices when the kubelet is gone: when the last of its list streams
// has ended.
type presence struct {
	mu      sync.Mutex
	streams int
	gone    chan struct{}
}

func newPresence() *presence { return &presence{gone: make(chan struct{}, 1)} }

// count adds to what the device plugins report.
func (p *presence) count(m kubelet.Metrics) kubelet.Metrics {
	report := m.Streams
	m.Streams = func(set string, delta int) {
		report(set, delta)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.streams += delta
		if p.streams == 0 && delta < 0 {
			notify(p.gone)
		}
	}
	return m
}

// withdrawTimeout bounds one attempt: after it the kubelet is likely back.
const withdrawTimeout = 10 * time.Second

// run withdraws the sets from the scheduler each time the kubelet goes, until
// ctx ends. An attempt that does not work is only logged: what it prevents is
// a race, and the kubelet ends it by coming back.
func (p *presence) run(ctx context.Context, log logr.Logger, withdraw func(context.Context) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.gone:
		}
		if withdraw == nil {
			continue
		}
		attempt, cancel := context.WithTimeout(ctx, withdrawTimeout)
		err := withdraw(attempt)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error(err, "the kubelet is gone; its sets stay visible to the scheduler")
		default:
			log.Info("the kubelet is gone; no more pods are bound to its sets until it is back")
		}
	}
}
