// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/cdi/preload"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
)

// sharing limits the block slices that are held, and lends what is idle of them.
// A nil *sharing counts them and does neither.
type sharing struct {
	server  *socket.Server
	limiter cdi.Limiter
	log     logr.Logger
	builds  []string // the libraries that containers may have loaded

	mu       sync.Mutex
	contexts map[string]uint64                // bytes of one context, by GPU, as measured
	standard uint64                           // where nothing was measured
	allowed  map[gpu.SliceID]socket.Allowance // what lendMemory says
}

// openSharing puts the limiter's files where containers find them.
func openSharing(o options, log logr.Logger) (*sharing, error) {
	if !o.limiter {
		log.Info("block slices are counted, not limited", "because", "--limiter=false")
		return nil, nil
	}
	work := filepath.Join(o.stateDir, "limiter")
	files, err := preload.Install(o.limiterDir, work, cdi.LimiterLibrary)
	if err != nil {
		return nil, fmt.Errorf("%w; see --limiter-dir, or give --limiter=false to count block slices without limiting them", err)
	}
	server, err := socket.New(socket.Config{Root: o.runDir, Proc: o.pids, Log: slog.New(logr.ToSlogHandler(log))})
	if err != nil {
		return nil, fmt.Errorf("open sharer: %w", err)
	}
	l := cdi.Limiter{
		Slices: filepath.Join(o.runDir, "slices"), Library: files.Library,
		Hook: files.Hook, Work: filepath.Join(work, "lists"), PreloadList: files.List,
	}
	if !o.cdi {
		l.Hook = "" // there is nobody to run it
	}
	builds, err := preload.Builds(work)
	if err != nil {
		return nil, err
	}
	return &sharing{server: server, limiter: l, log: log, builds: builds, contexts: map[string]uint64{}, standard: o.contextMiB << 20}, nil
}

// edits is what containers with block slices get.
func (s *sharing) edits() cdi.Limiter {
	if s == nil {
		return cdi.Limiter{}
	}
	return s.limiter
}

// hold makes what the node's state says is held what containers may use.
func (s *sharing) hold(snap gpu.Snapshot) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := shares(snap, s.contextBytes)
	for i := range all {
		if now, ok := s.allowed[all[i].ID]; ok && all[i].MaxMemoryBytes > all[i].GuaranteedBytes {
			all[i].MemoryBytes, all[i].Reclaim = now.MemoryBytes, now.Reclaim
		}
	}
	if err := s.server.Set(all); err != nil {
		return fmt.Errorf("set shares: %w", err)
	}
	return nil
}

// prepare is hold before a container with the granted slices is started. It fails
// only for what concerns them.
func (s *sharing) prepare(snap gpu.Snapshot, granted []gpu.Slice) error {
	err := s.hold(snap)
	if err == nil {
		return nil
	}
	served := map[gpu.SliceID]bool{}
	for _, v := range s.server.View().Slices {
		served[v.ID] = !v.Retired
	}
	for _, g := range granted {
		if g.Block != nil && !served[g.ID] {
			return err
		}
	}
	return nil // run says it again
}

// learn takes over what contexts were seen to cost, and reports whether that is
// news.
func (s *sharing) learn(contexts map[string]uint64) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uuid, bytes := range contexts {
		if s.contexts[uuid] != bytes {
			s.contexts[uuid], news = bytes, true
		}
	}
	return news
}

// allow changes what slices may do with memory, as far as it is news. Those that
// are not named have their guarantee.
func (s *sharing) allow(now map[gpu.SliceID]socket.Allowance) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for id, a := range now {
		if s.allowed[id] != a {
			errs = append(errs, s.server.SetMemory(id, a))
		}
	}
	s.allowed = now
	return errors.Join(errs...)
}

// since is how long ago t was.
func (s *sharing) since(t sharer.Instant) time.Duration { return socket.MonotonicNow().Sub(t) }

func (s *sharing) contextBytes(gpu string) uint64 {
	if n, ok := s.contexts[gpu]; ok {
		return n
	}
	return s.standard
}

// shares are the block slices that are held, as the sharer sees them.
func shares(snap gpu.Snapshot, contextBytes func(gpu string) uint64) []socket.Slice {
	var all []socket.Slice
	for _, st := range snap.Slices {
		b := st.Slice.Block
		if b == nil || (st.State != gpu.StateHeld && st.State != gpu.StateRetired) {
			continue
		}
		all = append(all, socket.Slice{
			ID: st.Slice.ID, GPU: st.Slice.GPUs[0], Tenant: tenantOf(st),
			Permille: b.Percent * 10, MaxPermille: b.MaxPercent * 10, Lend: b.Lend, Borrow: b.Borrow,
			MemoryBytes: uint64(b.MemoryBytes), GuaranteedBytes: uint64(b.MemoryBytes), MaxMemoryBytes: uint64(b.MaxMemoryBytes),
			ContextBytes: contextBytes(st.Slice.GPUs[0]),
		})
	}
	return all
}

// unnamed begins the name of a tenant that is a slice and not a container. No
// container has it: no name of a namespace has a colon.
const unnamed = "slice:"

// tenantOf is the container that holds a slice. Until the kubelet has named it,
// each slice stands for itself.
func tenantOf(st gpu.Status) sharer.TenantID {
	h := st.Holder
	if h.IsZero() {
		return sharer.TenantID(unnamed + string(st.Slice.ID))
	}
	return sharer.TenantID(strings.Join([]string{h.Namespace, h.Pod, h.Container}, "/"))
}

// run serves the processes and follows the node's state until ctx ends.
func (s *sharing) run(ctx context.Context, state interface {
	Watch() (<-chan struct{}, func())
	Snapshot() gpu.Snapshot
}) error {
	if s == nil {
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- s.server.Run(ctx) }()
	changed, stop := state.Watch()
	defer stop()
	for {
		if err := s.hold(state.Snapshot()); err != nil {
			s.log.Error(err, "some block slices are not limited as they should be; their containers cannot use the GPU")
		}
		select {
		case err := <-done:
			return err
		case <-changed:
		}
	}
}
