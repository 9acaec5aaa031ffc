// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"aipub.io/aipub/cdi/driver"
	"aipub.io/aipub/cdi/specdir"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
)

// specs is what containers get, on disk. It is opened for one driver version.
type specs struct {
	options options

	mu        sync.Mutex
	version   string
	publisher *specdir.Publisher
}

// open prepares the specs for a driver; nil on a machine without GPUs. It looks
// for the driver's files again only when the version has changed.
func (s *specs) open(ctx context.Context, d *nvml.Driver, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher != nil && s.version == version {
		return nil
	}
	c := driver.Config{
		Root: s.options.driverMount, HostRoot: s.options.driverRoot,
		DevRoot: s.devMount(), HostDevRoot: s.options.devRoot,
		Proc: s.options.proc, Version: version, HookPath: s.hook(),
	}
	if d != nil {
		c.Toolkit = driver.Discovery(d.Raw())
	}
	p, err := specdir.New(s.options.cdiDir, driver.New(c))
	if err != nil {
		return err
	}
	if d != nil {
		if err := p.PutDriver(ctx); err != nil {
			return err
		}
	}
	s.publisher, s.version = p, version
	return nil
}

// devMount is the folder with dev/nvidia* as this process sees it: below the
// driver root's mount where that is the same folder, otherwise under its own
// name.
func (s *specs) devMount() string {
	if s.options.devRoot == s.options.driverRoot {
		return s.options.driverMount
	}
	return s.options.devRoot
}

// hook is nvidia-cdi-hook as the host sees it; empty when it has none.
func (s *specs) hook() string {
	if s.options.cdiHook != "" {
		return s.options.cdiHook
	}
	for _, path := range []string{"/usr/bin/nvidia-cdi-hook", "/usr/local/nvidia/toolkit/nvidia-cdi-hook", "/usr/local/bin/nvidia-cdi-hook"} {
		if _, err := os.Stat(filepath.Join(s.options.driverMount, path)); err == nil {
			return path
		}
	}
	return ""
}

func (s *specs) put(ctx context.Context, t specdir.Target) error {
	p, err := s.opened()
	if err != nil {
		return err
	}
	if err := p.Put(ctx, t); err != nil {
		return fmt.Errorf("write container edits of %s: %w", t.Slice.ID, err)
	}
	return nil
}

func (s *specs) sweep(keep func(gpu.SliceID) bool) error {
	p, err := s.opened()
	if err != nil {
		return err
	}
	_, err = p.Sweep(keep)
	return err
}

func (s *specs) opened() (*specdir.Publisher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher == nil {
		return nil, fmt.Errorf("write container edits: %w", errUnknown)
	}
	return s.publisher, nil
}
