// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/attach"
	"aipub.io/aipub/sharer/checkpoint"
	loan "aipub.io/aipub/sharer/memory"
)

// retryRestore is the pause after a restore that went wrong.
const retryRestore = 10 * time.Second

// parking checkpoints the processes of slices and restores them, one slice after
// the other in the background. What is parked is remembered beside the slices'
// directories, so that an agent that returns restores it.
type parking struct {
	tool atomic.Pointer[checkpoint.Tool] // nil while it is not known to work
	proc *attach.Proc
	path string
	log  logr.Logger

	mu     sync.Mutex
	places map[gpu.SliceID]*place
}

// place is where the memory of a slice's processes is.
type place struct {
	Residence loan.Residence     `json:"residence"`
	Processes []attach.ProcessID `json:"processes"`
}

// openParking takes over what an earlier agent has parked.
func openParking(o options, log logr.Logger) *parking {
	p := &parking{proc: attach.NewProc(o.pids), path: filepath.Join(o.runDir, "parked.json"), log: log, places: map[gpu.SliceID]*place{}}
	text, err := os.ReadFile(p.path)
	if err == nil {
		err = json.Unmarshal(text, &p.places)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Error(err, "read which processes are checkpointed", "file", p.path)
	}
	for _, at := range p.places {
		at.Residence = loan.Parked // whatever was under way: a restore looks first
	}
	return p
}

// cudaLibrary is the libcuda.so.1 beside NVML's library.
func cudaLibrary(nvml, mount string) string {
	if found := library(nvml, mount); found != "" {
		return filepath.Join(filepath.Dir(found), "libcuda.so.1")
	}
	return ""
}

// probe finds out whether processes can be checkpointed here, and says so. It
// needs the driver.
func (p *parking) probe(ctx context.Context, o options) {
	t := checkpoint.Tool{Path: filepath.Join(o.limiterDir, checkpoint.ToolFile), Library: cudaLibrary(o.nvmlLibrary, o.driverMount)}
	if err := t.Probe(ctx); err != nil {
		p.log.Info("borrowers of device memory are not checkpointed; they are ended after their grace", "because", err.Error())
		return
	}
	p.tool.Store(&t)
}

func (p *parking) works() bool { return p.tool.Load() != nil }

// empty reports whether nothing is parked, or on its way.
func (p *parking) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.places) == 0
}

func (p *parking) residence(id gpu.SliceID) loan.Residence {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.places[id]; at != nil {
		return at.Residence
	}
	return loan.Resident
}

// follow forgets slices whose processes have all ended.
func (p *parking) follow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.places {
		alive := slices.ContainsFunc(at.Processes, func(one attach.ProcessID) bool {
			now, _, err := p.proc.Process(one.PID)
			return err == nil && now == one
		})
		underWay := at.Residence == loan.Leaving || at.Residence == loan.Returning
		if !underWay && !alive {
			delete(p.places, id)
			p.save()
		}
	}
}

// park checkpoints the processes of a slice. When one cannot be, all go on, and
// the slice is Fixed until they have ended.
func (p *parking) park(ctx context.Context, id gpu.SliceID, processes []attach.ProcessID) {
	tool := p.tool.Load()
	if tool == nil {
		return
	}
	p.put(id, &place{loan.Leaving, processes})
	go func() {
		for i, one := range processes {
			err := tool.Park(ctx, one.PID)
			if err == nil {
				continue
			}
			for _, done := range processes[:i] {
				err = errors.Join(err, tool.Restore(context.WithoutCancel(ctx), done.PID))
			}
			p.log.Error(err, "stop a borrower of device memory; it goes on", "slice", id)
			p.put(id, &place{loan.Fixed, processes})
			return
		}
		p.put(id, &place{loan.Parked, processes})
	}()
}

// restore lets the processes of a slice go on.
func (p *parking) restore(ctx context.Context, id gpu.SliceID) {
	p.mu.Lock()
	at, tool := p.places[id], p.tool.Load()
	p.mu.Unlock()
	if at == nil || tool == nil {
		return
	}
	p.put(id, &place{loan.Returning, at.Processes})
	go func() {
		var errs []error
		for _, one := range at.Processes {
			if now, _, err := p.proc.Process(one.PID); err != nil || now != one {
				continue // it has ended
			}
			errs = append(errs, tool.Restore(ctx, one.PID))
		}
		if err := errors.Join(errs...); err != nil {
			p.log.Error(err, "restore a borrower of device memory; trying again", "slice", id)
			pause(ctx, retryRestore)
			p.put(id, &place{loan.Parked, at.Processes})
			return
		}
		p.put(id, nil)
	}()
}

// put moves a slice; nil is resident again.
func (p *parking) put(id gpu.SliceID, at *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at == nil {
		delete(p.places, id)
	} else {
		p.places[id] = at
	}
	p.save()
}

// save writes what is parked. The folder is on a tmpfs, so what it says goes with
// the processes when the machine starts anew.
func (p *parking) save() {
	text, err := json.Marshal(p.places)
	if err == nil {
		err = os.WriteFile(p.path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.path+".new", p.path)
	}
	if err != nil {
		p.log.Error(fmt.Errorf("write %s: %w", p.path, err), "remember which processes are checkpointed")
	}
}
