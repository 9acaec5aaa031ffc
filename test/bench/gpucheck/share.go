// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// kinds are the ways to launch, with kernels of some length. The name is the end of
// a figure's.
var kinds = []struct {
	name, words string
	args        []string
}{
	{"plain_100us", "plain 100 µs", []string{"--kernel-us", "100", "--burst", "20"}},
	{"plain_1ms", "plain 1 ms", []string{"--kernel-us", "1000", "--burst", "4"}},
	{"plain_50ms", "plain 50 ms", []string{"--kernel-us", "50000"}},
	{"ex_1ms", "ex 1 ms", []string{"--kernel-us", "1000", "--burst", "4", "--kind", "ex"}},
	{"cooperative_1ms", "cooperative 1 ms", []string{"--kernel-us", "1000", "--burst", "4", "--kind", "cooperative"}},
	{"graph_5ms", "graph of 5 × 1 ms", []string{"--kernel-us", "1000", "--burst", "5", "--graph"}},
}

// The figures that say how much of its share a busy tenant has.
const (
	ofTarget = "sharer.real_share_of_target"
	ofRaw    = "sharer.real_share_of_target_raw"
	ofAlone  = "sharer.real_alone_percent" // one for each kind
)

// shareFigures are the names of what measureShares prints.
func shareFigures() []string {
	names := []string{"sharer.real_share_error_1s", "sharer.real_share_error_10s", ofTarget, ofRaw, ofAlone}
	for _, k := range kinds {
		names = append(names, ofAlone+"."+k.name)
	}
	return names
}

// standsBeside are the figures that say little without this one.
func standsBeside(figure string) []string {
	switch {
	case figure == ofRaw:
		return []string{ofTarget}
	case strings.HasPrefix(figure, ofAlone+"."):
		return []string{ofAlone, ofTarget}
	}
	return nil
}

// measureShares runs two busy tenants with 30 and 70 percent, for each way to
// launch, and beside that one of them alone.
func measureShares(ctx context.Context, m *machine) error {
	seconds := m.setup.seconds()
	worst := shared{target: math.Inf(1)}
	least := math.Inf(1) // of the target, by what the program does alone
	for _, k := range kinds {
		args := append([]string{"--window-ms", "100"}, k.args...)
		var s shared
		alone, err := m.besideAlone(ctx, seconds, args, func() (err error) {
			s, err = m.share(ctx, seconds, args)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", k.words, err)
		}
		fmt.Fprintf(os.Stderr, "  %-20s %s\n", k.words, s.words(alone))
		m.print(ofAlone+"."+k.name, 100*alone, "%")
		least = min(least, s.target/alone)
		worst.error1, worst.error10, worst.target = max(worst.error1, s.error1), max(worst.error10, s.error10), min(worst.target, s.target)
	}
	m.print("sharer.real_share_error_1s", worst.error1, "points")
	if math.IsNaN(worst.error10) {
		fmt.Fprintln(os.Stderr, "  no sharer.real_share_error_10s: --measure is less than 10s")
	} else {
		m.print("sharer.real_share_error_10s", worst.error10, "points")
	}
	m.print(ofTarget, least, "ratio")
	m.print(ofRaw, worst.target, "ratio")
	return nil
}

// shared is what the first of two busy tenants had.
type shared struct {
	error1, error10 float64 // points, over windows of 1 and 10 s; NaN: it ran for less
	target          float64 // its part of the GPU's time, in parts of its share
}

// words tells of one kind, for who watches.
func (s shared) words(alone float64) string {
	text := fmt.Sprintf("error %.2f points over 1 s", s.error1)
	if !math.IsNaN(s.error10) {
		text += fmt.Sprintf(", %.2f over 10 s", s.error10)
	}
	return fmt.Sprintf("%s; alone %.1f %% of the GPU; %.3f of the target, raw %.3f", text, 100*alone, s.target/alone, s.target)
}

// share runs two busy tenants with 30 and 70 percent.
func (m *machine) share(ctx context.Context, seconds int, args []string) (shared, error) {
	const part = 300
	if err := m.divide(share{name: "a", permille: part, lend: true, borrow: true}, share{name: "b", permille: 1000 - part, lend: true, borrow: true}); err != nil {
		return shared{}, err
	}
	a, b, err := m.startBoth(ctx, args, args)
	if err != nil {
		return shared{}, err
	}
	from, err := pass(ctx, seconds)
	if ended := endAll(a, b); err == nil {
		err = ended
	}
	if err != nil {
		return shared{}, err
	}
	one, other := series(a.windows(), from, seconds), series(b.windows(), from, seconds)
	return shared{
		error1: shareErrors(one, other, part/10, 1), error10: shareErrors(one, other, part/10, 10), target: portion(one) * 1000 / part,
	}, nil
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
