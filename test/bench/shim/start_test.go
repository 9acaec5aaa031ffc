// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"fmt"
	"os/exec"
	"testing"
)

// BenchmarkInitStorm has 300 processes call cuInit at once, on the driver that does
// nothing. The figure is about the call as each process sees it; the last one's end
// after the common start is printed beside it, since on few cores that is what
// somebody who starts them waits for.
func BenchmarkInitStorm(b *testing.B) { bothStorms(b, "storm", "sharer.init_storm") }

// BenchmarkContextStorm has them go on to their first context, which is when a
// process takes its slot and the agent answers it. A real driver's context takes
// hundreds of milliseconds; this one's takes none.
func BenchmarkContextStorm(b *testing.B) { bothStorms(b, "contexts", "sharer.context_storm") }

func bothStorms(b *testing.B, verb, figures string) {
	const rounds, processes = 7, "300"
	r := newRig(b, whole(139<<30))
	var added, last []float64
	raw := []string{"round native_p50_ms native_p99_ms preloaded_p50_ms preloaded_p99_ms native_last_ms preloaded_last_ms"}
	for i := range rounds {
		native := r.numbers(r.noop(r.command("", r.probe, verb, processes)))
		ours := r.numbers(r.noop(r.command(r.library, r.probe, verb, processes)))
		ms := func(rows [][]float64, c int, q float64) float64 { return quantile(column(rows, c), q) / 1e6 }
		added = append(added, ms(ours, 0, 0.99)-ms(native, 0, 0.99))
		last = append(last, ms(ours, 1, 1)-ms(native, 1, 1))
		raw = append(raw, fmt.Sprintf("%d %.3f %.3f %.3f %.3f %.1f %.1f", i, ms(native, 0, 0.5), ms(native, 0, 0.99),
			ms(ours, 0, 0.5), ms(ours, 0, 0.99), ms(native, 1, 1), ms(ours, 1, 1)))
	}
	figure(b, figures+"_added_p99_ms", round(quantile(added, 0.5), 3), "ms", raw)
	figure(b, figures+"_added_last_ms", round(quantile(last, 0.5), 1), "ms", raw)
}

// BenchmarkPreloadExec starts a program that never calls CUDA, with and without the
// library in turns: what every sh and sleep of a container pays. Each round's figure is
// about its tenth percentile, since a busy machine only adds.
func BenchmarkPreloadExec(b *testing.B) {
	const rounds, times = 15, "200"
	r := newRig(b, whole(1<<30))
	program, err := exec.LookPath("true")
	r.must(err)
	var added []float64
	raw := []string{"round native_us preloaded_us"}
	for i := range rounds {
		native := quantile(column(r.numbers(r.command("", r.probe, "execs", times, program)), 0), 0.1) / 1e3
		ours := quantile(column(r.numbers(r.command(r.library, r.probe, "execs", times, program)), 0), 0.1) / 1e3
		added = append(added, ours-native)
		raw = append(raw, fmt.Sprintf("%d %.1f %.1f", i, native, ours))
	}
	figure(b, "sharer.preload_exec_us", round(quantile(added, 0.5), 1), "us", raw)
}
