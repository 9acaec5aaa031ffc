// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/gpu"
)

// Manager serves every set of the node as a device plugin. Make it with
// NewManager.
type Manager struct {
	node   Node
	cfg    Config
	wakeup chan struct{}
	done   chan attempt

	background sync.WaitGroup // attempts to register, and servers that end

	// Used by Run's goroutine alone.
	plugins map[string]*plugin
	checked map[string]verdict

	mu         sync.Mutex
	registered map[string]bool
	problems   map[string]error
}

// NewManager returns a manager for the node. The error says which part of the
// configuration is not possible.
func NewManager(node Node, cfg Config) (*Manager, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Manager{
		node: node, cfg: cfg,
		wakeup:     make(chan struct{}, 1),
		done:       make(chan attempt),
		plugins:    map[string]*plugin{},
		checked:    map[string]verdict{},
		registered: map[string]bool{},
		problems:   map[string]error{},
	}, nil
}

// Registered are the sets that the present kubelet has accepted, sorted.
func (m *Manager) Registered() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.registered))
}

// Problems says for each set that is not served why not, as an error whose
// message is for people.
func (m *Manager) Problems() map[string]error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.problems)
}

// Run serves until ctx ends. It waits for a kubelet that is not there. The
// error says that the plugin directory cannot be used.
func (m *Manager) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	if err := os.MkdirAll(m.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("make plugin directory: %w", err)
	}
	if err := removeStale(m.cfg.Dir); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer m.stopAll()
	defer cancel()
	changed, stop := m.node.Watch()
	defer stop()
	watch, err := watchDir(ctx, m.cfg.Dir, m.wake)
	if err != nil {
		log.Error(err, "plugin directory is looked at only now and then")
	}
	for {
		timer := time.NewTimer(m.reconcile(ctx))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-changed:
		case <-m.wakeup:
		case <-timer.C:
		case a := <-m.done:
			m.finish(log, a)
		case <-watch:
			watch = nil
		}
		timer.Stop()
		if watch == nil {
			// An error is as before: looked at only now and then.
			watch, _ = watchDir(ctx, m.cfg.Dir, m.wake)
		}
	}
}

func (m *Manager) wake() {
	select {
	case m.wakeup <- struct{}{}:
	default:
	}
}

// reconcile repairs every difference between what is served and what should be,
// and returns when to look again.
func (m *Manager) reconcile(ctx context.Context) time.Duration {
	log := logr.FromContextOrDiscard(ctx)
	serving := slices.Sorted(maps.Keys(m.plugins))
	start, stop := deviceplugin.Diff(serving, m.servable(log, serving))
	for _, set := range stop {
		log.Info("set withdrawn", "set", set)
		m.plugins[set].stop(true)
		delete(m.plugins, set)
		m.cfg.Metrics.withdrawn(set)
	}
	for _, set := range start {
		m.plugins[set] = &plugin{set: set}
	}
	kubelet := identity(filepath.Join(m.cfg.Dir, kubeletSocket))
	next := m.cfg.Resync
	for _, p := range m.plugins {
		next = min(next, m.tend(ctx, p, kubelet))
	}
	m.publish(kubelet)
	return max(next, time.Millisecond)
}

// servable are the sets to serve. One that breaks a limit is not begun; one
// that is served already keeps its last list instead. A set is looked at again
// when its number of slices has changed, since the rest is in their names.
func (m *Manager) servable(log logr.Logger, serving []string) []string {
	snap := m.node.Snapshot()
	counts := map[string]int{}
	for i := range snap.Slices {
		counts[snap.Slices[i].Slice.Set]++
	}
	problems := map[string]error{}
	var sets []string
	for _, set := range deviceplugin.Sets(snap) {
		was, known := m.checked[set]
		if !known || was.slices != counts[set] {
			was = verdict{counts[set], deviceplugin.Check(set, deviceplugin.Devices(snap, set))}
			if was.err != nil {
				log.Error(was.err, "set cannot be advertised", "resource", gpu.ResourceName(set))
			}
			m.checked[set] = was
		}
		if was.err != nil {
			problems[set] = was.err
		}
		if was.err == nil || slices.Contains(serving, set) {
			sets = append(sets, set)
		}
	}
	maps.DeleteFunc(m.checked, func(set string, _ verdict) bool { return counts[set] == 0 })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems = problems
	return sets
}

// verdict is what was found of a set when it had so many slices.
type verdict struct {
	slices int
	err    error
}

// publish makes known which sets the present kubelet has accepted.
func (m *Manager) publish(kubelet os.FileInfo) {
	now := map[string]bool{}
	for set, p := range m.plugins {
		if p.registeredWith(kubelet) {
			now[set] = true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = now
}

// stopAll ends all servers side by side, and waits for what is still going on.
func (m *Manager) stopAll() {
	for _, p := range m.plugins {
		m.background.Go(func() { p.stop(false) })
	}
	m.background.Wait()
	m.plugins = map[string]*plugin{}
	m.publish(nil)
}
