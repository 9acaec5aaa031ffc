// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"aipub.io/aipub/sharer/wire"
)

// tenant is a running program that uses the GPU.
type tenant struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu    sync.Mutex
	lines []line
	err   bytes.Buffer
}

// line is what it did in one window.
type line struct {
	at          time.Duration // since its start, at the window's end
	kernels     int
	gpu         time.Duration
	mean, worst time.Duration // of bursts, from the first launch to their end
	heard       time.Time
}

// start runs a tenant within a slice; an empty slice means without the limiter.
func (m *machine) start(ctx context.Context, slice string, args ...string) (*tenant, error) {
	return m.startProgram(ctx, slice, append([]string{m.setup.tenant, "--device", strconv.Itoa(m.setup.gpu)}, args...))
}

// startProgram runs any program that prints a tenant's lines.
func (m *machine) startProgram(ctx context.Context, slice string, args []string) (*tenant, error) {
	env := os.Environ()
	if slice != "" {
		dir, err := m.view(slice)
		if err != nil {
			return nil, err
		}
		args, env = inside(dir, m.setup.library, args, env)
	}
	t := &tenant{cmd: exec.CommandContext(ctx, args[0], args[1:]...), done: make(chan struct{})} //nolint:gosec // the program under test
	t.cmd.Env = env
	t.cmd.Stderr = &t.err
	t.cmd.Cancel = func() error { return t.cmd.Process.Signal(syscall.SIGTERM) }
	t.cmd.WaitDelay = 5 * time.Second
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start tenant: %w", err)
	}
	go t.read(out)
	return t, nil
}

// inside makes a command see a slice's folder as a container does: root mounts it
// where the library looks, others name it, which works where no agent runs.
func inside(dir, library string, args, env []string) (command, environment []string) {
	if os.Getuid() != 0 {
		return args, append(env, "LD_PRELOAD="+library, "AIPUB_SLICES_DIR="+dir)
	}
	const script = `mkdir -p "$0" && mount --rbind "$1" "$0" && shift && LD_PRELOAD=$1 && export LD_PRELOAD && shift && exec "$@"`
	return append([]string{"unshare", "--mount", "sh", "-c", script, wire.SlicesDir, dir, library}, args...), env
}

func (t *tenant) read(out io.Reader) {
	defer close(t.done)
	for s := bufio.NewScanner(out); s.Scan(); {
		if l, ok := parse(s.Text()); ok {
			l.heard = time.Now()
			t.mu.Lock()
			t.lines = append(t.lines, l)
			t.mu.Unlock()
		}
	}
}

// parse reads a window; false for a head or the totals.
func parse(text string) (line, bool) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(fields) < 5 {
		return line{}, false
	}
	var v [5]float64
	for i := range v {
		n, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return line{}, false
		}
		v[i] = n
	}
	us := func(n float64) time.Duration { return time.Duration(n * float64(time.Microsecond)) }
	return line{at: time.Duration(v[0] * float64(time.Second)), kernels: int(v[1]), gpu: us(v[2]), mean: us(v[3]), worst: us(v[4])}, true
}

// windows are the lines so far.
func (t *tenant) windows() []line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]line(nil), t.lines...)
}

// ready waits for the first window in which it did something.
func (t *tenant) ready(ctx context.Context) error {
	for ctx.Err() == nil {
		for _, l := range t.windows() {
			if l.kernels > 0 {
				return nil
			}
		}
		select {
		case <-t.done:
			return fmt.Errorf("the tenant ended before it did anything: %s", strings.TrimSpace(t.err.String()))
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return ctx.Err()
}

func (t *tenant) signal(s syscall.Signal) error { return t.cmd.Process.Signal(s) }

// end stops it and waits. What it printed can be read afterwards.
func (t *tenant) end() error {
	_ = t.signal(syscall.SIGTERM)
	<-t.done
	if err := t.cmd.Wait(); err != nil {
		return fmt.Errorf("tenant: %w: %s", err, strings.TrimSpace(t.err.String()))
	}
	return nil
}

// wait lets time pass.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
