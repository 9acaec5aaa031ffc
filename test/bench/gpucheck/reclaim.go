// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// ownerKernel is what a waking owner launches, guestKernel what the borrower is
// in the middle of.
const (
	ownerKernel = time.Millisecond
	guestKernel = time.Millisecond
)

// measureReclaim lets an owner wake now and then beside a borrower that never
// rests. What a burst takes longer than its kernel is the wait.
func measureReclaim(ctx context.Context, m *machine) error {
	owner := []string{"--kernel-us", fmt.Sprint(ownerKernel.Microseconds()), "--gap-ms", "37", "--window-ms", "1"}
	alone, err := m.latencies(ctx, owner, nil)
	if err != nil {
		return err
	}
	both, err := m.latencies(ctx, owner, []string{"--kernel-us", fmt.Sprint(guestKernel.Microseconds()), "--burst", "16", "--window-ms", "100"})
	if err != nil {
		return err
	}
	base := percentile(alone, 50)
	fmt.Fprintf(os.Stderr, "  an owner's burst alone: median %.2f ms; beside a borrower: median %.2f, p99 %.2f, longest %.2f ms, %d wakes\n",
		milliseconds(base), milliseconds(percentile(both, 50)), milliseconds(percentile(both, 99)), milliseconds(percentile(both, 100)), len(both))
	m.print("sharer.real_reclaim_p50_ms", milliseconds(percentile(both, 50)-base), "ms")
	m.print("sharer.real_reclaim_p99_ms", milliseconds(percentile(both, 99)-base), "ms")
	return nil
}

// latencies are those of the owner's bursts, with or without a borrower.
func (m *machine) latencies(ctx context.Context, owner, guest []string) ([]time.Duration, error) {
	if err := m.divide(share{name: "a", permille: 500, lend: true, borrow: true}, share{name: "b", permille: 500, lend: true, borrow: true}); err != nil {
		return nil, err
	}
	var borrower *tenant
	if guest != nil {
		var err error
		if borrower, err = m.start(ctx, "b", guest...); err != nil {
			return nil, err
		}
		defer func() { _ = borrower.end() }()
		if err := borrower.ready(ctx); err != nil {
			return nil, err
		}
	}
	t, err := m.start(ctx, "a", owner...)
	if err != nil {
		return nil, err
	}
	const first = 10 // the program's start, not the limiter's
	for len(bursts(t.windows())) < m.setup.wakes+first {
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
		select {
		case <-t.done:
			return nil, t.end()
		default:
		}
	}
	if err := t.end(); err != nil {
		return nil, err
	}
	return bursts(t.windows())[first:], nil
}

func bursts(lines []line) (all []time.Duration) {
	for _, l := range lines {
		if l.kernels > 0 {
			all = append(all, l.worst)
		}
	}
	return all
}
