// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// kinds are the ways to launch, with kernels of some length.
var kinds = []struct {
	name string
	args []string
}{
	{"plain 100 µs", []string{"--kernel-us", "100", "--burst", "20"}},
	{"plain 1 ms", []string{"--kernel-us", "1000", "--burst", "4"}},
	{"plain 50 ms", []string{"--kernel-us", "50000"}},
	{"ex 1 ms", []string{"--kernel-us", "1000", "--burst", "4", "--kind", "ex"}},
	{"cooperative 1 ms", []string{"--kernel-us", "1000", "--burst", "4", "--kind", "cooperative"}},
	{"graph of 5 × 1 ms", []string{"--kernel-us", "1000", "--burst", "5", "--graph"}},
}

// measureShares runs two busy tenants with 30 and 70 percent, for each way to
// launch.
func measureShares(ctx context.Context, m *machine) error {
	seconds := int(m.setup.measure / time.Second / 10 * 10)
	var worst1, worst10 float64
	least := 1.0
	for _, k := range kinds {
		e1, e10, of, err := m.shareOf(ctx, seconds, k.args)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		fmt.Fprintf(os.Stderr, "  %-20s error %.2f points over 1 s, %.2f over 10 s; %.3f of the target\n", k.name, e1, e10, of)
		worst1, worst10, least = max(worst1, e1), max(worst10, e10), min(least, of)
	}
	m.print("sharer.real_share_error_1s", worst1, "points")
	m.print("sharer.real_share_error_10s", worst10, "points")
	m.print("sharer.real_share_of_target", least, "ratio")
	return nil
}

func (m *machine) shareOf(ctx context.Context, seconds int, args []string) (e1, e10, ofTarget float64, err error) {
	const part = 300
	if err := m.divide(share{name: "a", permille: part, lend: true, borrow: true}, share{name: "b", permille: 1000 - part, lend: true, borrow: true}); err != nil {
		return 0, 0, 0, err
	}
	args = append([]string{"--window-ms", "100"}, args...)
	a, b, err := m.startBoth(ctx, args, args)
	if err != nil {
		return 0, 0, 0, err
	}
	err = wait(ctx, time.Second)
	from := time.Now()
	if err == nil {
		err = wait(ctx, time.Duration(seconds)*time.Second+200*time.Millisecond)
	}
	if ended := endAll(a, b); err == nil {
		err = ended
	}
	if err != nil {
		return 0, 0, 0, err
	}
	one, other := series(a.windows(), from, seconds), series(b.windows(), from, seconds)
	var mean time.Duration
	for _, d := range one {
		mean += d
	}
	target := float64(part) / 1000
	return shareErrors(one, other, target*100, 1), shareErrors(one, other, target*100, 10), mean.Seconds() / float64(seconds) / target, nil
}

// measureTorch does the same with two PyTorch programs, where PyTorch is.
func measureTorch(ctx context.Context, m *machine) error {
	if err := exec.CommandContext(ctx, "python3", "-c", "import torch; assert torch.cuda.is_available()").Run(); err != nil || m.simulated {
		fmt.Fprintln(os.Stderr, "  not measured: python3 has no torch that sees a real GPU")
		return nil
	}
	const part, seconds = 300, 20
	if err := m.divide(share{name: "a", permille: part, lend: true, borrow: true}, share{name: "b", permille: 1000 - part, lend: true, borrow: true}); err != nil {
		return err
	}
	var both []*tenant
	for _, slice := range []string{"a", "b"} {
		t, err := m.startProgram(ctx, slice, []string{"python3", m.setup.torch, strconv.Itoa(m.setup.gpu)})
		if err != nil {
			return errors.Join(err, endAll(both...))
		}
		both = append(both, t)
	}
	for _, t := range both {
		if err := t.ready(ctx); err != nil {
			return errors.Join(err, endAll(both...))
		}
	}
	from := time.Now()
	if err := errors.Join(wait(ctx, seconds*time.Second), endAll(both...)); err != nil {
		return err
	}
	m.print("sharer.real_torch_share_error_1s", shareErrors(series(both[0].windows(), from, seconds), series(both[1].windows(), from, seconds), part/10, 1), "points")
	return nil
}

// startBoth starts a tenant in slice a and one in slice b, and waits for both.
func (m *machine) startBoth(ctx context.Context, argsA, argsB []string) (a, b *tenant, err error) {
	if a, err = m.start(ctx, "a", argsA...); err != nil {
		return nil, nil, err
	}
	if b, err = m.start(ctx, "b", argsB...); err != nil {
		_ = a.end()
		return nil, nil, err
	}
	for _, t := range []*tenant{a, b} {
		if err := t.ready(ctx); err != nil {
			_ = endAll(a, b)
			return nil, nil, err
		}
	}
	return a, b, nil
}

func endAll(all ...*tenant) (err error) {
	for _, t := range all {
		if ended := t.end(); err == nil {
			err = ended
		}
	}
	return err
}
