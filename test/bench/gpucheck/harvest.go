// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// measureHarvest compares what a tenant of 20 percent does while the other one
// rests with what it does alone and without the limiter.
func measureHarvest(ctx context.Context, m *machine) error {
	args := []string{"--kernel-us", "500", "--burst", "8", "--window-ms", "100"}
	seconds := m.setup.seconds()
	native, err := m.rate(ctx, "", seconds, args)
	if err != nil {
		return err
	}
	if err := m.divide(share{name: "a", permille: 800, lend: true, borrow: true}, share{name: "b", permille: 200, lend: true, borrow: true}); err != nil {
		return err
	}
	rests, err := m.start(ctx, "a", args...)
	if err != nil {
		return err
	}
	defer func() { _ = rests.signal(syscall.SIGUSR2); _ = rests.end() }()
	if err := rests.ready(ctx); err != nil {
		return err
	}
	if err := rests.signal(syscall.SIGUSR1); err != nil {
		return err
	}
	lent, err := m.rate(ctx, "b", seconds, args)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "  GPU time per second: %.3f without the limiter, %.3f on what another one leaves idle\n", native, lent)
	m.print("sharer.real_harvest_percent", 100*lent/native, "%")
	m.print("sharer.real_overhead_percent", 100*(1-lent/native), "%")
	return nil
}
