// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"aipub.io/aipub/gpu"
)

// reconnectSoon keeps the pause before a new connection short: the kubelet is
// on the same machine.
var reconnectSoon = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: time.Second,
}

// Lister says what every container holds.
type Lister interface {
	List(ctx context.Context) ([]gpu.Holding, error)
}

// Observer is the node's truth as a Poller needs it.
type Observer interface {
	// Mark is taken before the kubelet is asked.
	Mark() uint64
	// Observe takes over an observation; settled is false when it is worth
	// asking again soon.
	Observe(o gpu.Observation) (settled bool)
}

// Poller keeps the node informed of who holds what. The kubelet has no way to
// watch it, so it is asked: every Interval, at once on a Trigger, and every Soon
// while something is unclear.
type Poller struct {
	// Lister and Observer are required.
	Lister   Lister
	Observer Observer
	// Pods are the node's pods that have not ended, as the API server says; ok
	// is false while it has not been heard. It is called before the kubelet is
	// asked. Nil is never heard.
	Pods func() (pods []gpu.Pod, ok bool)
	// Trigger asks for a look at once, as when a pod has ended; it may be nil.
	// It should be buffered and filled without blocking.
	Trigger <-chan struct{}
	// Interval is the pause between looks without a cause; 5 s when 0. Soon is
	// the pause while a holder is unknown or may just have ended, and the least
	// between two triggers' looks; 200 ms when 0.
	Interval, Soon time.Duration
	// Timeout bounds one question to the kubelet; 10 s when 0.
	Timeout time.Duration
	// Metrics are told of each question.
	Metrics Metrics
}

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	interval, soon := or(p.Interval, 5*time.Second), or(p.Soon, 200*time.Millisecond)
	var last string
	for {
		settled, err := p.poll(ctx)
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now != last && ctx.Err() == nil {
			last = now
			log.Info("pod resources", "answers", err == nil, "reason", now)
		}
		pause := interval
		if !settled {
			pause = soon
		}
		if !p.wait(ctx, pause) {
			return
		}
	}
}

// poll makes one observation. An error is not settled.
func (p *Poller) poll(ctx context.Context) (settled bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, or(p.Timeout, 10*time.Second))
	defer cancel()
	o := gpu.Observation{Mark: p.Observer.Mark()}
	if p.Pods != nil {
		o.Pods, o.PodsKnown = p.Pods()
	}
	start := time.Now()
	o.Holdings, err = p.Lister.List(ctx)
	p.Metrics.observed(time.Since(start), err)
	if err != nil {
		return false, err
	}
	return p.Observer.Observe(o), nil
}

// wait returns after the pause or on a trigger; false when ctx has ended.
func (p *Poller) wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-p.Trigger:
	case <-timer.C:
	}
	return ctx.Err() == nil
}
