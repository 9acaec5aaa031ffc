// SPDX-License-Identifier: Apache-2.0

// Command gpucheck measures the sharer with real processes on a real clock: the
// arbiter that the agent runs, the library that containers preload, and programs
// that use the CUDA driver API. It needs no cluster. On a machine with an NVIDIA
// GPU it measures that; with GPUSIM_DIR set, the simulated one, and says so.
//
//	make gpu-checks        builds what it needs and runs it
//
// Each figure is a line "BENCH name value unit"; docs/gpu-checks.md explains them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(1)
	}
}

// setup is the command line.
type setup struct {
	library, tenant, nvml string
	torch                 string
	gpu                   int
	measure               time.Duration
	wakes                 int
	figures               []string
	plot                  string
}

// check is one group of figures.
type check struct {
	name    string
	figures []string
	run     func(ctx context.Context, m *machine) error
}

var checks = []check{
	{"share", shareFigures(), measureShares},
	{"torch", []string{"sharer.real_torch_share_error_1s"}, measureTorch},
	{"reclaim", []string{"sharer.real_reclaim_p50_ms", "sharer.real_reclaim_p99_ms"}, measureReclaim},
	{"harvest", []string{"sharer.real_harvest_percent", "sharer.real_overhead_percent"}, measureHarvest},
	{"memory", []string{"sharer.real_memory_overrun_bytes"}, measureMemory},
	{"plot", []string{"plot"}, recordPlot},
}

func run(ctx context.Context, args []string) error {
	var s setup
	f := pflag.NewFlagSet("gpucheck", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&s.library, "library", "", "libaipub-….so, the library that containers preload")
	f.StringVar(&s.tenant, "tenant", "", "tenant, the program of test/gpusim")
	f.StringVar(&s.nvml, "nvml-library", "", "libnvidia-ml.so.1; default: by the dynamic loader")
	f.IntVar(&s.gpu, "gpu", 0, "index of the GPU to use; nothing else should run on it")
	f.DurationVar(&s.measure, "measure", 20*time.Second, "how long each share is measured, in whole seconds; sharer.real_share_error_10s takes 10s or more")
	f.IntVar(&s.wakes, "wakes", 300, "how many times an owner wakes up, for the reclaim figures")
	f.StringVar(&s.torch, "torch", "test/bench/gpucheck/torch_tenant.py", "the PyTorch program; used where python3 has torch")
	f.StringVar(&s.plot, "plot", "", "file for the record of two tenants, of which one pauses (SVG); without it no such run")
	if err := f.Parse(args); err != nil {
		return err
	}
	s.figures = f.Args()
	for flag, value := range map[string]string{"--library": s.library, "--tenant": s.tenant} {
		if _, err := os.Stat(value); err != nil {
			return fmt.Errorf("%s: %q: %w; `make gpu-checks` builds it", flag, value, err)
		}
	}
	if s.measure < time.Second {
		return fmt.Errorf("--measure: %s is less than 1s, the shortest window of the figures", s.measure)
	}
	m, err := newMachine(ctx, s)
	if err != nil {
		return err
	}
	defer m.close()
	fmt.Printf("# %s\n", m.describe())
	for _, c := range checks {
		if !slices.ContainsFunc(c.figures, s.wants) {
			continue
		}
		fmt.Fprintf(os.Stderr, "gpucheck: %s\n", c.name)
		if err := c.run(ctx, m); err != nil {
			return fmt.Errorf("measure %s: %w", c.name, err)
		}
	}
	return nil
}

// wants reports whether a figure was asked for; all are when none was named.
func (s setup) wants(figure string) bool {
	if figure == "plot" {
		return s.plot != ""
	}
	if len(s.figures) == 0 {
		return true
	}
	return slices.ContainsFunc(s.figures, func(pattern string) bool {
		ok, err := path.Match(pattern, figure)
		return err == nil && ok
	})
}

// seconds are how long a share is measured: whole windows of 10 s, or whole
// seconds where it is shorter.
func (s setup) seconds() int {
	n := int(s.measure / time.Second)
	if n < 10 {
		return n
	}
	return n / 10 * 10
}

// prints reports whether a figure was asked for, or one that it stands beside.
func (s setup) prints(figure string) bool {
	return s.wants(figure) || slices.ContainsFunc(standsBeside(figure), s.wants)
}

// print writes a figure, if it is to be.
func (m *machine) print(name string, value float64, unit string) {
	if !m.setup.prints(name) {
		return
	}
	kind := ""
	if m.simulated {
		kind = " (simulated GPU)"
	}
	fmt.Printf("BENCH %s %s %s%s\n", name, strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", value), "0"), "."), unit, kind)
}
