// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/gpu/nvml"
)

const (
	// openRetry is the pause between attempts to open the driver. A driver
	// container can take minutes to load it.
	openRetry = 5 * time.Second
	// readTimeout bounds one look at all GPUs.
	readTimeout = time.Minute
)

// errUnknown means that the hardware has not been read yet. Nothing may be
// concluded from it: a GPU that is not known is not a GPU that is gone.
var errUnknown = errors.New("the GPU driver does not answer yet")

// hardware is the driver, once it answers, and what it said last.
type hardware struct {
	config nvml.Config
	log    logr.Logger

	mu        sync.Mutex
	driver    *nvml.Driver
	inventory nvml.Inventory
	known     bool
	none      bool // the machine has no GPU at all
	stale     bool
	err       error
}

// read returns what the driver says, asking it again after forget. driver is
// nil on a machine without GPUs.
func (h *hardware) read(ctx context.Context) (*nvml.Driver, nvml.Inventory, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.driver == nil {
		if h.none {
			return nil, nvml.Inventory{}, nil
		}
		return nil, nvml.Inventory{}, errors.Join(errUnknown, h.err)
	}
	if h.known && !h.stale {
		return h.driver, h.inventory, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	inv, err := h.driver.Inventory(ctx)
	if err != nil {
		return nil, nvml.Inventory{}, fmt.Errorf("read GPUs: %w", err)
	}
	h.inventory, h.known, h.stale = inv, true, false
	return h.driver, inv, nil
}

// forget makes the next read ask the driver.
func (h *hardware) forget() {
	h.mu.Lock()
	h.stale = true
	h.mu.Unlock()
}

// open tries until the driver answers or the machine is known to have no GPU.
// believe says whether "no GPU" may be believed: it may not on a machine that
// had some before.
func (h *hardware) open(ctx context.Context, sys string, believe bool) (*nvml.Driver, error) {
	h.mu.Lock()
	opened := h.driver
	h.mu.Unlock()
	if opened != nil {
		return opened, nil
	}
	logged := ""
	for {
		d, err := nvml.Open(h.config)
		none := err != nil && believe && !hasNVIDIA(sys)
		h.mu.Lock()
		h.driver, h.err, h.none = d, err, none
		h.mu.Unlock()
		if err == nil || none {
			return d, nil
		}
		if msg := err.Error(); msg != logged {
			h.log.Info("waiting for the GPU driver", "cause", msg)
			logged = msg
		}
		if !pause(ctx, openRetry) {
			return nil, ctx.Err()
		}
	}
}

// hasNVIDIA reports whether the PCI bus has a display or 3D controller of
// NVIDIA's (vendor 10de, class 03).
func hasNVIDIA(sys string) bool {
	devices, err := filepath.Glob(filepath.Join(sys, "bus/pci/devices/*"))
	if err != nil {
		return true
	}
	for _, d := range devices {
		vendor, _ := os.ReadFile(filepath.Join(d, "vendor"))
		class, _ := os.ReadFile(filepath.Join(d, "class"))
		if len(vendor) >= 6 && string(vendor[:6]) == "0x10de" && len(class) >= 4 && string(class[:4]) == "0x03" {
			return true
		}
	}
	return false
}

// run keeps the driver open and hands on what it says of its health until ctx
// ends. ready is called each time the driver has been opened. A driver that was
// unloaded is opened anew.
func (h *hardware) run(ctx context.Context, sys string, believe bool, watch nvml.WatchConfig, ready func(), emit func(nvml.Event)) error {
	for {
		d, err := h.open(ctx, sys, believe)
		if err != nil {
			return ignoreDone(ctx, err)
		}
		ready()
		if d == nil {
			h.log.Info("this machine has no GPU")
			return nil
		}
		err = d.Watch(ctx, watch, emit)
		if ctx.Err() != nil {
			return nil
		}
		h.log.Error(err, "health cannot be watched; trying again")
		if errors.Is(err, nvml.ErrUnloaded) || errors.Is(err, nvml.ErrClosed) {
			h.close(d)
			believe = false
		}
		if !pause(ctx, openRetry) {
			return nil
		}
	}
}

// close gives the driver back; nothing is known until it is opened again.
func (h *hardware) close(d *nvml.Driver) {
	h.mu.Lock()
	h.driver, h.known = nil, false
	h.mu.Unlock()
	if err := d.Close(); err != nil {
		h.log.Info("closing the driver", "cause", err.Error())
	}
}

// library is the path of NVML: the one that was given, or the one below the
// driver root, or empty for the dynamic loader's.
func library(given, mount string) string {
	if given != "" {
		return given
	}
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib64", "run/nvidia/driver/usr/lib/x86_64-linux-gnu"} {
		path := filepath.Join(mount, dir, "libnvidia-ml.so.1")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func ignoreDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
