// SPDX-License-Identifier: Apache-2.0

package partition

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// figure prints one figure and keeps its raw data.
func figure(b *testing.B, name string, value float64, unit string, raw []string) {
	b.Helper()
	fmt.Printf("BENCH %s %.3f %s\n", name, value, unit)
	dir := os.Getenv("BENCH_OUT")
	if dir == "" || raw == nil {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(raw, "\n")+"\n"), 0o644); err != nil {
		b.Fatal(err)
	}
}
