// SPDX-License-Identifier: Apache-2.0

package specdir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	cdilib "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
)

// Source finds what the hardware behind a slice needs. An error means that the
// device cannot be used now, for example because its node is missing.
type Source interface {
	// Common are the edits for every container with a GPU.
	Common(ctx context.Context) (specs.ContainerEdits, error)
	// GPU are the edits of one GPU, Instance those of one MIG instance.
	GPU(ctx context.Context, g gpu.GPU) (specs.ContainerEdits, error)
	Instance(ctx context.Context, g gpu.GPU, inst gpu.Instance) (specs.ContainerEdits, error)
}

// Target is a slice with the hardware behind it now.
type Target struct {
	Slice gpu.Slice
	// GPUs are the slice's GPUs, in its order.
	GPUs []gpu.GPU
	// Instance is set for a MIG slice.
	Instance *gpu.Instance
}

// Publisher writes spec files and remembers what they say. Its methods may be
// called from any goroutine.
type Publisher struct {
	dir     string
	source  Source
	limiter cdi.Limiter
	cache   *cdilib.Cache

	mu     sync.Mutex
	common specs.ContainerEdits
	edits  map[gpu.SliceID]published
}

// published is what a slice's container gets.
type published struct {
	slice gpu.Slice
	edits specs.ContainerEdits
}

// New makes a Publisher for a directory, usually /var/run/cdi, which is made
// when it is missing. Block slices get the limiter's pieces beside the hardware.
func New(dir string, source Source, limiter cdi.Limiter) (*Publisher, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make CDI directory: %w", err)
	}
	cache, err := cdilib.NewCache(cdilib.WithSpecDirs(dir), cdilib.WithAutoRefresh(false))
	if err != nil {
		return nil, fmt.Errorf("open CDI directory: %w", err)
	}
	return &Publisher{dir: dir, source: source, limiter: limiter, cache: cache, edits: map[gpu.SliceID]published{}}, nil
}

// PutDriver writes the spec of what all GPU slices share. Call it before the
// first Put of a slice with a GPU, and again when the driver has changed.
func (p *Publisher) PutDriver(ctx context.Context) error {
	edits, err := p.source.Common(ctx)
	if err != nil {
		return fmt.Errorf("find driver files: %w", err)
	}
	spec, err := cdi.DriverSpec(edits)
	if err != nil {
		return err
	}
	if err := p.write(ctx, spec, cdi.DriverFile); err != nil {
		return err
	}
	p.mu.Lock()
	p.common = edits
	p.mu.Unlock()
	return nil
}

// Put writes the spec of one slice, or brings it up to date. The slice must not
// be handed out when this fails.
func (p *Publisher) Put(ctx context.Context, t Target) error {
	hardware, err := p.hardware(ctx, t)
	if err != nil {
		return fmt.Errorf("slice %s: %w", t.Slice.ID, err)
	}
	hardware = append(hardware, p.limiter.Edits(t.Slice))
	spec, err := cdi.SetSpec(t.Slice, hardware...)
	if err != nil {
		return fmt.Errorf("slice %s: %w", t.Slice.ID, err)
	}
	if err := p.write(ctx, spec, cdi.FileName(t.Slice.ID)); err != nil {
		return fmt.Errorf("slice %s: %w", t.Slice.ID, err)
	}
	p.mu.Lock()
	p.edits[t.Slice.ID] = published{t.Slice, cdi.Merge(hardware...)}
	p.mu.Unlock()
	return nil
}

// hardware finds the edits of every device of a slice.
func (p *Publisher) hardware(ctx context.Context, t Target) ([]specs.ContainerEdits, error) {
	if len(t.GPUs) != len(t.Slice.GPUs) {
		return nil, fmt.Errorf("%d of its %d GPUs are there", len(t.GPUs), len(t.Slice.GPUs))
	}
	if t.Slice.Kind == gpu.KindMIG {
		if t.Instance == nil || len(t.GPUs) != 1 {
			return nil, errors.New("its MIG instance does not exist yet")
		}
		edits, err := p.source.Instance(ctx, t.GPUs[0], *t.Instance)
		return []specs.ContainerEdits{edits}, err
	}
	var all []specs.ContainerEdits
	for _, g := range t.GPUs {
		edits, err := p.source.GPU(ctx, g)
		if err != nil {
			return nil, err
		}
		all = append(all, edits)
	}
	return all, nil
}

// Access is what a container with a published slice gets, as plain values for
// a runtime without CDI; false for a slice that is not published.
func (p *Publisher) Access(id gpu.SliceID) (cdi.Access, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.edits[id]
	if !ok {
		return cdi.Access{}, false
	}
	if len(e.slice.GPUs) == 0 {
		return cdi.Fallback(e.slice, e.edits), true
	}
	return cdi.Fallback(e.slice, p.common, e.edits), true
}

// write replaces a spec file if its content changes.
func (p *Publisher) write(ctx context.Context, spec *specs.Spec, name string) error {
	data, err := json.Marshal(spec)
	if err != nil {
		return fmt.Errorf("encode CDI spec: %w", err)
	}
	if old, err := os.ReadFile(filepath.Join(p.dir, name)); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := p.cache.WriteSpec(spec, name); err != nil {
		return fmt.Errorf("write CDI spec %s: %w", name, err)
	}
	logr.FromContextOrDiscard(ctx).WithName("cdi").V(1).Info("spec written", "file", name)
	return nil
}
