// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/sim"
)

// figure prints one figure and keeps its table.
func figure(b *testing.B, name string, value float64, unit string, table []string) {
	b.Helper()
	fmt.Printf("BENCH %s %.3f %s (simulated, in virtual time)\n", name, value, unit)
	dir := os.Getenv("BENCH_OUT")
	if dir == "" || table == nil {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(table, "\n")+"\n"), 0o644); err != nil {
		b.Fatal(err)
	}
}

// job is a tenant of the one GPU that lends and borrows.
func job(id string, permille int, programs ...sim.Program) sim.Job {
	return sim.Job{
		Tenant: sharer.Tenant{
			ID: sharer.TenantID(id), Legs: []sharer.Leg{{GPU: gpu, Permille: permille}}, Lend: true, Borrow: true,
		},
		Programs: programs,
	}
}

const gpu = "0"

// milliseconds of a quantile.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(all))
	return float64(sorted[int(q*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

func mean(all []time.Duration) float64 {
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return float64(sum) / float64(len(all)) / float64(time.Millisecond)
}
