// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"fmt"
	"testing"
)

// BenchmarkOverhead compares programs with and without the library in turns, on the
// driver that does nothing: all that is added is the library's. Each round's figure is
// the difference of the two programs' medians of 200 batches; the figure is the median
// of the rounds.
func BenchmarkOverhead(b *testing.B) {
	const rounds = 15
	r := newRig(b, whole(64<<30))
	var launch, alloc []float64
	raw := []string{"round launch_native_ns launch_preloaded_ns alloc_free_native_ns alloc_free_preloaded_ns"}
	for i := range rounds {
		native := r.numbers(r.noop(r.command("", r.probe, "cost", "200")))
		ours := r.numbers(r.noop(r.command(r.library, r.probe, "cost", "200")))
		var median [4]float64
		for c := range 2 {
			median[2*c], median[2*c+1] = quantile(column(native, c), 0.5), quantile(column(ours, c), 0.5)
		}
		launch = append(launch, median[1]-median[0])
		alloc = append(alloc, (median[3]-median[2])/1000)
		raw = append(raw, fmt.Sprintf("%d %.2f %.2f %.2f %.2f", i, median[0], median[1], median[2], median[3]))
	}
	if v := r.server.View().Slices[0]; v.Work.Launches == 0 {
		b.Fatal("the library counted no launch: it does not take the driver's GPU for the slice's")
	}
	figure(b, "sharer.launch_overhead_ns", round(quantile(launch, 0.5), 1), "ns", raw)
	figure(b, "sharer.alloc_overhead_us", round(quantile(alloc, 0.5), 3), "us", raw)
}
