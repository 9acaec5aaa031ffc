// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
)

// machine is the GPU under test with a sharer of its own.
type machine struct {
	setup     setup
	simulated bool
	driver    string
	device    gpu.GPU
	dir       string
	server    *socket.Server
	stop      func()
}

func newMachine(ctx context.Context, s setup) (*machine, error) {
	d, err := nvml.Open(nvml.Config{LibraryPath: s.nvml})
	if err != nil {
		return nil, fmt.Errorf("open the GPU driver: %w", err)
	}
	defer func() { _ = d.Close() }()
	inv, err := d.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	m := &machine{setup: s, simulated: os.Getenv("GPUSIM_DIR") != "", driver: inv.DriverVersion}
	found := false
	for _, g := range inv.GPUs {
		if g.Index == s.gpu {
			m.device, found = g, true
		}
	}
	if !found {
		return nil, fmt.Errorf("--gpu: the machine has no GPU %d; it has %d", s.gpu, len(inv.GPUs))
	}
	if m.dir, err = os.MkdirTemp("/dev/shm", "gpucheck-"); err != nil { // a tmpfs, as on a node
		return nil, err
	}
	m.server, err = socket.New(socket.Config{Root: m.dir, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(m.dir))
	}
	running, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.server.Run(running) }()
	m.stop = func() { cancel(); <-done }
	return m, nil
}

func (m *machine) close() {
	m.stop()
	_ = m.server.Close()
	_ = os.RemoveAll(m.dir)
}

func (m *machine) describe() string {
	kind := "real"
	if m.simulated {
		kind = "simulated"
	}
	return fmt.Sprintf("%s %s, driver %s, %d MiB, %s", kind, m.device.Model, m.driver, m.device.MemoryBytes>>20, time.Now().UTC().Format(time.DateOnly))
}

// share is what one tenant gets.
type share struct {
	name         string
	permille     int
	lend, borrow bool
	memory       uint64 // bytes; 0: the same part of the GPU's memory as of its time
}

// divide replaces the slices of the GPU.
func (m *machine) divide(shares ...share) error {
	var all []socket.Slice
	for _, s := range shares {
		memory := s.memory
		if memory == 0 {
			memory = uint64(m.device.MemoryBytes) / 1000 * uint64(s.permille)
		}
		all = append(all, socket.Slice{
			ID: gpu.SliceID(s.name), GPU: m.device.UUID, Tenant: sharer.TenantID(s.name),
			Permille: s.permille, MaxPermille: 1000, Lend: s.lend, Borrow: s.borrow,
			MemoryBytes: memory, GuaranteedBytes: memory, ContextBytes: 512 << 20,
		})
	}
	return m.server.Set(all)
}

// view is the folder that the container of a slice sees.
func (m *machine) view(slice string) (string, error) {
	dir := filepath.Join(m.dir, "view-"+slice)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	link := filepath.Join(dir, slice)
	if err := os.Symlink(filepath.Join(m.dir, "slices", slice), link); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}
