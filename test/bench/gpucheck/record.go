// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"syscall"
	"time"

	"aipub.io/aipub/test/kit/plot"
)

// recordPlot draws two tenants of which one rests for a while.
func recordPlot(ctx context.Context, m *machine) error {
	const phase = 5 * time.Second
	if err := m.divide(share{name: "a", permille: 500, lend: true, borrow: true}, share{name: "b", permille: 500, lend: true, borrow: true}); err != nil {
		return err
	}
	args := []string{"--kernel-us", "1000", "--burst", "4", "--window-ms", "100"}
	a, b, err := m.startBoth(ctx, args, args)
	if err != nil {
		return err
	}
	defer func() { _ = endAll(a, b) }()
	from := time.Now()
	steps := []func() error{
		func() error { return a.signal(syscall.SIGUSR1) },
		func() error { return a.signal(syscall.SIGUSR2) },
		func() error { return nil },
	}
	for _, step := range steps {
		if err := wait(ctx, phase); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	c := plot.Chart{
		Title: "Two block slices of 50 % on one GPU", Note: m.describe() + "; GPU time in windows of 0.1 s", Seconds: 3 * phase.Seconds(),
		Marks: []plot.Mark{{At: 0, Text: "both busy"}, {At: phase.Seconds(), Text: "a rests: b borrows"}, {At: 2 * phase.Seconds(), Text: "a wakes: has its share back"}},
	}
	for name, t := range map[string]*tenant{"a": a, "b": b} {
		s := plot.Series{Name: name, Guaranteed: 50}
		for _, l := range t.windows() {
			s.Points = append(s.Points, plot.Point{At: l.heard.Sub(from).Seconds(), Percent: 100 * l.gpu.Seconds() / 0.1})
		}
		c.Series = append(c.Series, s)
	}
	out, err := os.Create(m.setup.plot)
	if err != nil {
		return err
	}
	if err := c.Write(out); err != nil {
		return err
	}
	return out.Close()
}
