// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
)

// errOpening is errUnknown before the first attempt to open the driver has ended.
var errOpening = errors.New("the GPU driver is being opened")

// errUnknown means that the hardware has not been read yet. Nothing may be
// concluded from it: a GPU that is not known is not a GPU that is gone.
var errUnknown = errors.New("the GPU driver does not answer yet")

// hardware is the driver, once it answers, and what it said last.
type hardware struct {
	config func() nvml.Config // where the driver is now: it may be installed late
	log    logr.Logger
	pace   pace

	looking sync.Mutex // one look at the GPUs at a time; taken before mu

	mu        sync.Mutex
	driver    *nvml.Driver
	inventory nvml.Inventory
	// wanted counts the reasons to look again, seen is its value at the last
	// look; equal when inventory is up to date.
	wanted, seen uint64
	none         bool // the machine has no GPU at all
	err          error
}

func newHardware(c func() nvml.Config, log logr.Logger, p pace) *hardware {
	return &hardware{config: c, log: log, pace: p, wanted: 1}
}

// read returns what the driver says, asking it again after forget. driver is
// nil on a machine without GPUs.
func (h *hardware) read(ctx context.Context) (*nvml.Driver, nvml.Inventory, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	h.mu.Lock()
	d, inv, wanted, fresh, none, cause := h.driver, h.inventory, h.wanted, h.wanted == h.seen, h.none, h.err
	h.mu.Unlock()
	switch {
	case d == nil && none:
		return nil, nvml.Inventory{}, nil
	case d == nil && cause != nil:
		return nil, nvml.Inventory{}, fmt.Errorf("%w: %w", errUnknown, cause)
	case d == nil:
		return nil, nvml.Inventory{}, errOpening
	case fresh:
		return d, inv, nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.pace.read)
	defer cancel()
	inv, err := d.Inventory(ctx)
	if err != nil {
		return nil, nvml.Inventory{}, fmt.Errorf("read GPUs: %w", err)
	}
	for _, f := range inv.Failed {
		h.log.Info("GPU does not answer", "index", f.Index, "uuid", f.UUID, "cause", f.Err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inventory, h.seen = inv, wanted // what was forgotten meanwhile stays so
	return d, inv, nil
}

// opened is the driver, nil until it answers.
func (h *hardware) opened() *nvml.Driver {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.driver
}

// forget makes the next read ask the driver. It never waits for the hardware.
func (h *hardware) forget() {
	h.mu.Lock()
	h.wanted++
	h.mu.Unlock()
}

// open tries until the driver answers or the machine is known to have no GPU;
// fresh says that it was not open before. believe says whether "no GPU" may be
// believed: it may not on a machine that had some before.
func (h *hardware) open(ctx context.Context, sys string, believe bool) (d *nvml.Driver, fresh bool, err error) {
	h.mu.Lock()
	present := h.driver
	h.mu.Unlock()
	if present != nil {
		return present, false, nil
	}
	logged := ""
	for {
		d, err := nvml.Open(h.config())
		none := err != nil && believe && !hasNVIDIA(sys)
		h.mu.Lock()
		h.driver, h.err, h.none = d, err, none
		h.mu.Unlock()
		if err == nil || none {
			return d, true, nil
		}
		if msg := err.Error(); msg != logged {
			h.log.Info("waiting for the GPU driver", "cause", msg)
			logged = msg
		}
		if !pause(ctx, h.pace.open) {
			return nil, false, ctx.Err()
		}
	}
}

// lookout is who wants to hear of the hardware.
type lookout struct {
	sys     string
	believe bool // "no GPU" may be believed at once
	// ready is called each time the driver has been opened, emit with its news.
	ready func()
	emit  func(nvml.Event)
	// all adds to the GPUs that answer those that are silent: both are watched.
	all func(nvml.Inventory) []gpu.GPU
}

// run keeps the driver open and hands on what it says of its health until ctx
// ends. A driver that was unloaded is opened anew.
func (h *hardware) run(ctx context.Context, l lookout) error {
	defer h.close()
	for {
		d, fresh, err := h.open(ctx, l.sys, l.believe)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if fresh {
			l.ready()
		}
		if d == nil {
			h.log.Info("this machine has no GPU")
			return nil
		}
		err = h.watch(ctx, d, l)
		if ctx.Err() != nil {
			return nil
		}
		h.log.Info("health cannot be watched; trying again", "cause", fmt.Sprint(err))
		if errors.Is(err, nvml.ErrUnloaded) || errors.Is(err, nvml.ErrClosed) {
			h.close()
			l.believe = false
		}
		if !pause(ctx, h.pace.open) {
			return nil
		}
	}
}

func (h *hardware) watch(ctx context.Context, d *nvml.Driver, l lookout) error {
	_, inv, err := h.read(ctx)
	if err != nil {
		return err
	}
	c := h.pace.watch
	for _, g := range l.all(inv) {
		c.GPUs = append(c.GPUs, g.UUID)
	}
	return d.Watch(ctx, c, l.emit)
}

// close gives the driver back; nothing is known until it is opened again. A call
// that hangs in the driver is not waited for longer than pace.close.
func (h *hardware) close() {
	h.mu.Lock()
	d := h.driver
	h.driver = nil
	h.wanted++
	h.mu.Unlock()
	if d == nil {
		return
	}
	done := make(chan error, 1)
	go func() { done <- d.Close() }()
	timeout := time.NewTimer(h.pace.close)
	defer timeout.Stop()
	select {
	case err := <-done:
		if err != nil {
			h.log.Info("closing the driver", "cause", err.Error())
		}
	case <-timeout.C:
		h.log.Info("a call of the driver hangs; leaving it behind")
	}
}
