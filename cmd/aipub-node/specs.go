// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/cdi/driver"
	"aipub.io/aipub/cdi/specdir"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
)

// specs is what containers get, on disk. It is made for one open driver.
type specs struct {
	options options
	limiter cdi.Limiter

	mu      sync.Mutex
	driver  *nvml.Driver
	version string
	current *specdir.Publisher // nil before the first open
}

// open prepares the specs for a driver; nil on a machine without GPUs. It looks
// for the driver's files again only when the driver is another one.
func (s *specs) open(ctx context.Context, d *nvml.Driver, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != nil && s.driver == d && s.version == version {
		return s.mend(ctx)
	}
	c := driver.Config{
		Root: s.options.driverMount, HostRoot: s.options.driverRoot,
		DevRoot: s.devMount(), HostDevRoot: s.options.devRoot,
		Proc: s.options.proc, Version: version, HookPath: s.hook(),
	}
	if d != nil {
		c.Lend = d.Lend
	}
	p, err := specdir.New(s.options.cdiDir, driver.New(c), s.limiter)
	if err != nil {
		return err
	}
	if d != nil {
		if err := p.PutDriver(ctx); err != nil {
			return err
		}
	}
	s.current, s.driver, s.version = p, d, version
	return nil
}

// mend writes the driver's spec again if somebody removed it: without it no
// container with a GPU can be started.
func (s *specs) mend(ctx context.Context) error {
	if s.driver == nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(s.options.cdiDir, cdi.DriverFile)); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return s.current.PutDriver(ctx)
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

// put writes or renews the spec of one slice.
func (s *specs) put(ctx context.Context, t specdir.Target) error {
	p, err := s.publisher()
	if err != nil {
		return err
	}
	if err := p.Put(ctx, t); err != nil {
		return fmt.Errorf("write container edits: %w", err)
	}
	return nil
}

// remove deletes the spec of a slice without hardware: what it names may be
// somebody else's by now.
func (s *specs) remove(id gpu.SliceID) error {
	p, err := s.publisher()
	if err != nil {
		return err
	}
	return p.Remove(id)
}

// sweep deletes the specs that are not to be kept.
func (s *specs) sweep(keep func(gpu.SliceID) bool) error {
	p, err := s.publisher()
	if err != nil {
		return err
	}
	_, err = p.Sweep(keep)
	return err
}

// access is what a container gets of a slice where the runtime has no CDI; false
// while that is not known.
func (s *specs) access(id gpu.SliceID) (cdi.Access, bool) {
	p, err := s.publisher()
	if err != nil {
		return cdi.Access{}, false
	}
	return p.Access(id)
}

func (s *specs) publisher() (*specdir.Publisher, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return nil, fmt.Errorf("write container edits: %w", errUnknown)
	}
	return s.current, nil
}
