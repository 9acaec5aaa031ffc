// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// plugin is one set: the endpoint that serves it now, and how far its
// registration is. Only the manager's loop touches it.
type plugin struct {
	set     string
	current *endpoint
	// used is true when the kubelet may know the current endpoint's path.
	used bool
	// before are endpoints that go on until the current one is registered.
	before []*endpoint
	// leaving are former endpoints that are being stopped.
	leaving sync.WaitGroup

	inFlight bool
	with     os.FileInfo // the kubelet.sock that accepted the current endpoint
	tried    os.FileInfo // the kubelet.sock of the last attempt
	pause    time.Duration
	next     time.Time // no attempt before
}

// attempt is a finished attempt to register.
type attempt struct {
	plugin   *plugin
	endpoint *endpoint
	kubelet  os.FileInfo
	took     time.Duration
	err      error
}

func (p *plugin) registeredWith(kubelet os.FileInfo) bool {
	return kubelet != nil && p.with != nil && sameFile(p.with, kubelet)
}

// stop ends all of the set's servers, and returns once all of their streams have
// ended.
func (p *plugin) stop(withdraw bool) {
	for _, e := range p.before {
		e.stop(withdraw)
	}
	if p.current != nil {
		p.current.stop(withdraw)
	}
	p.before, p.current = nil, nil
	p.leaving.Wait()
}

// leave stops former endpoints beside whatever else goes on, then does what is after.
func (m *Manager) leave(p *plugin, former []*endpoint, after func()) {
	p.leaving.Add(1)
	m.background.Go(func() {
		defer p.leaving.Done()
		for _, e := range former {
			e.stop(false)
		}
		after()
	})
}

// tend brings one set into order as far as it can be now, and returns when to
// look again.
func (m *Manager) tend(ctx context.Context, p *plugin, kubelet os.FileInfo) time.Duration {
	log := logr.FromContextOrDiscard(ctx).WithValues("set", p.set)
	now := m.cfg.Now()
	if p.inFlight {
		return m.cfg.Resync
	}
	if p.registeredWith(kubelet) && p.current.present() {
		since, connected := p.current.idleSince()
		if connected {
			return m.cfg.Resync
		}
		if left := since.Add(m.cfg.StreamGrace).Sub(now); left > 0 {
			return left
		}
		log.Info("kubelet does not listen, registering anew")
	}
	if !sameFile(p.tried, kubelet) {
		p.tried, p.pause, p.next = kubelet, 0, time.Time{}
	}
	if left := p.next.Sub(now); left > 0 {
		return left
	}
	if kubelet == nil {
		return m.cfg.Resync // its appearance wakes us
	}
	if p.current == nil || p.used || !p.current.present() {
		if err := m.rebuild(log, p); err != nil {
			log.Error(err, "set cannot be served, trying again")
			return p.backOff(m.cfg, now)
		}
	}
	m.register(ctx, p, kubelet)
	return m.cfg.Resync
}

// present reports whether the endpoint's socket is still there.
func (e *endpoint) present() bool { return sameFile(e.file, identity(e.path)) }

// backOff puts off the next attempt.
func (p *plugin) backOff(cfg Config, now time.Time) time.Duration {
	p.pause = min(max(2*p.pause, cfg.RetryMin), cfg.RetryMax)
	p.next = now.Add(p.pause)
	return p.pause
}

// rebuild serves the set on a new socket. One that the kubelet may be connected
// to goes on beside it until the new one is registered.
func (m *Manager) rebuild(log logr.Logger, p *plugin) error {
	e, err := serve(log, m.node, m.cfg, p.set)
	if err != nil {
		return err
	}
	if old := p.current; old != nil {
		if _, connected := old.idleSince(); connected {
			p.before = append(p.before, old)
		} else {
			m.leave(p, []*endpoint{old}, func() {})
		}
	}
	p.current, p.used, p.with = e, false, nil
	return nil
}

// register begins an attempt; its end comes through m.done.
func (m *Manager) register(ctx context.Context, p *plugin, kubelet os.FileInfo) {
	p.inFlight, p.used = true, true
	start, e := m.cfg.Now(), p.current
	m.background.Go(func() {
		err := e.register(ctx)
		a := attempt{plugin: p, endpoint: e, kubelet: kubelet, took: m.cfg.Now().Sub(start), err: err}
		select {
		case m.done <- a:
		case <-ctx.Done():
		}
	})
}

// finish takes over the outcome of an attempt.
func (m *Manager) finish(log logr.Logger, a attempt) {
	p := a.plugin
	p.inFlight = false
	m.cfg.Metrics.registered(p.set, a.took, a.err)
	if a.err != nil {
		// Nobody answered: the path is still unknown to the kubelet.
		p.used = status.Code(a.err) != codes.Unavailable
		p.backOff(m.cfg, m.cfg.Now())
		log.V(1).Info("registration not accepted, trying again", "set", p.set, "reason", a.err.Error(), "pause", p.pause.String())
		return
	}
	p.with, p.pause = a.kubelet, 0
	a.endpoint.touch()
	before := p.before
	p.before = nil
	m.leave(p, before, a.endpoint.refresh) // an old stream may have sent an older list last
	log.Info("set registered", "set", p.set, "took", a.took.String())
}
