// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"
)

// rate is the part of the GPU's time that a tenant has, 0 to 1, over so many
// seconds; an empty slice means without the library.
func (m *machine) rate(ctx context.Context, slice string, seconds int, args []string) (float64, error) {
	t, err := m.start(ctx, slice, args...)
	if err != nil {
		return 0, err
	}
	if err := t.ready(ctx); err != nil {
		_ = t.end()
		return 0, err
	}
	from, err := pass(ctx, seconds)
	if ended := t.end(); err == nil {
		err = ended
	}
	return portion(series(t.windows(), from, seconds)), err
}

// pass lets a first second pass, which is the programs' start, and then those to
// measure. It says when these began.
func pass(ctx context.Context, seconds int) (from time.Time, err error) {
	if err := wait(ctx, time.Second); err != nil {
		return time.Time{}, err
	}
	from = time.Now()
	const late = 200 * time.Millisecond // until the last line has come
	return from, wait(ctx, time.Duration(seconds)*time.Second+late)
}

// besideAlone runs f between two runs of the program without the library and with
// nobody else on the GPU, of half as many seconds each, so that what changes on the
// machine meanwhile changes both. alone is the part of the GPU's time that the
// program had in these, more than 0.
func (m *machine) besideAlone(ctx context.Context, seconds int, args []string, f func() error) (alone float64, err error) {
	half := max(1, seconds/2)
	before, err := m.rate(ctx, "", half, args)
	if err != nil {
		return 0, fmt.Errorf("run the program alone: %w", err)
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := m.rate(ctx, "", half, args)
	if err != nil {
		return 0, fmt.Errorf("run the program alone: %w", err)
	}
	if before+after == 0 {
		return 0, fmt.Errorf("run the program alone: it finished no kernel in %d s; --measure has to be longer", 2*half)
	}
	return (before + after) / 2, nil
}
