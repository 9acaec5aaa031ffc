// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"sync"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// board is one GPU with its handle and its lock.
type board struct {
	uuid string
	lock chan struct{} // holds one token while taken

	mu     sync.Mutex
	handle gonvml.Device
}

// device is the handle that is valid now.
func (b *board) device() gonvml.Device {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handle
}

// renew replaces a handle that has died.
func (b *board) renew(handle gonvml.Device) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handle = handle
}

// WithGPU runs f with the handle of a GPU while holding that GPU's lock.
//
// f runs in a goroutine of its own. When ctx ends first, WithGPU returns an
// error that wraps ctx.Err(), f goes on and keeps the lock until it returns. So
// f must hand its results out over a channel with room for them, not through
// captured variables, unless these are read only when WithGPU returns nil.
func (d *Driver) WithGPU(ctx context.Context, uuid string, f func(gonvml.Device) error) error {
	b := d.known(uuid)
	if b == nil { // a look-up can take seconds
		var err error
		if b, err = call(ctx, d, func() (*board, error) { return d.board(uuid) }); err != nil {
			return err
		}
	}
	select {
	case b.lock <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for GPU %s: %w", uuid, ctx.Err())
	}
	_, err := await(ctx, func() (struct{}, error) {
		defer func() { <-b.lock }()
		return during(d, func() (struct{}, error) { return struct{}{}, f(b.device()) })
	})
	if err != nil {
		return fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return nil
}

// locked is WithGPU for a function with a result.
func locked[T any](ctx context.Context, d *Driver, uuid string, f func(gonvml.Device) (T, error)) (T, error) {
	out := make(chan T, 1)
	err := d.WithGPU(ctx, uuid, func(dev gonvml.Device) error {
		v, err := f(dev)
		out <- v
		return err
	})
	if err != nil {
		var zero T
		return zero, err
	}
	return <-out, nil
}

// during runs f unless the library is closed, which waits for f. f must not call
// during.
func during[T any](d *Driver, f func() (T, error)) (T, error) {
	d.open.RLock()
	defer d.open.RUnlock()
	if d.closed {
		var zero T
		return zero, ErrClosed
	}
	return f()
}

// call is await for a call of the library.
func call[T any](ctx context.Context, d *Driver, f func() (T, error)) (T, error) {
	return await(ctx, func() (T, error) { return during(d, f) })
}

// await runs f in a goroutine and waits for it or for ctx.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var zero T
		return zero, fmt.Errorf("driver call is unfinished, its outcome is unknown: %w", ctx.Err())
	}
}

// board returns the GPU's entry, looking its handle up at first use.
func (d *Driver) board(uuid string) (*board, error) {
	if b := d.known(uuid); b != nil {
		return b, nil
	}
	handle, ret := d.api.DeviceGetHandleByUUID(uuid)
	if err := check(ret); err != nil {
		return nil, fmt.Errorf("find GPU %s: %w", uuid, err)
	}
	return d.remember(uuid, handle), nil
}

// known returns the GPU's entry if there is one.
func (d *Driver) known(uuid string) *board {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.boards[uuid]
}

// remember stores a handle, unless the GPU is known already.
func (d *Driver) remember(uuid string, handle gonvml.Device) *board {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.boards[uuid]
	if b == nil {
		b = &board{uuid: uuid, handle: handle, lock: make(chan struct{}, 1)}
		d.boards[uuid] = b
	}
	return b
}
