// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpu is the time that this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}

// percentile of numbers that a client printed.
func percentile(b *testing.B, answer string, p float64) float64 {
	b.Helper()
	var all []float64
	for _, field := range strings.Fields(strings.TrimSuffix(answer, "done")) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatalf("client: %q", answer)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return all[int(p*float64(len(all)-1))]
}

// BenchmarkHandover measures from a client's Want to the moment at which it may
// issue work, with the GPU idle: two wake-ups and all between them. CPU is the
// agent's.
func BenchmarkHandover(b *testing.B) {
	r := newRig(b)
	r.set(block("a", 500))
	c := r.attached("a")
	c.do("work 100 0")
	b.ResetTimer()
	before := cpu(b)
	answer := c.do("work " + strconv.Itoa(b.N) + " 0")
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())*1000/float64(b.N), "ms-cpu/1000")
	b.ReportMetric(percentile(b, answer, 0.5), "p50-us")
	b.ReportMetric(percentile(b, answer, 0.99), "p99-us")
}

// BenchmarkTwoTenants hands the GPU to and fro between two tenants that work
// 200 µs each time.
func BenchmarkTwoTenants(b *testing.B) {
	r := newRig(b)
	r.set(block("a", 500), block("b", 500))
	x, y := r.attached("a"), r.attached("b")
	b.ResetTimer()
	before := cpu(b)
	step := "work " + strconv.Itoa(b.N) + " 200"
	x.tell(step)
	y.tell(step)
	x.answer()
	answer := y.answer()
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())*1000/float64(2*b.N), "ms-cpu/1000")
	b.ReportMetric(percentile(b, answer, 0.5), "p50-us")
	b.ReportMetric(percentile(b, answer, 0.99), "p99-us")
}
