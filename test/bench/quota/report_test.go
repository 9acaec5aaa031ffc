// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// figure prints one figure, and keeps its raw data and the machine's load.
func figure(b *testing.B, name string, value float64, unit string, raw ...string) {
	b.Helper()
	fmt.Printf("BENCH %s %.3f %s\n", name, value, unit)
	raw = append(raw, "load: "+load())
	b.Logf("%s: %s", name, strings.Join(raw[max(0, len(raw)-12):], "; "))
	dir := os.Getenv("BENCH_OUT")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(raw, "\n")+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

// load is the machine's load average, since others may use it too.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// at is the p-th part of samples (0.99, or 1 for the largest), in milliseconds.
func at(samples []time.Duration, p float64) float64 {
	slices.Sort(samples)
	return float64(samples[min(len(samples)-1, int(p*float64(len(samples))))]) / float64(time.Millisecond)
}

// spread says how samples are spread.
func spread(what string, samples []time.Duration) string {
	return fmt.Sprintf("%s: %d samples, p50 %.2f, p99 %.2f, max %.2f ms", what, len(samples), at(samples, 0.5), at(samples, 0.99), at(samples, 1))
}
