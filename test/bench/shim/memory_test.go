// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkMemoryOverrun tries to have more memory than a slice has: through every way
// that the driver has to take some, one after the other and all of them, and by 64
// processes that race for one ledger with a million calls. The figure is the most that
// was had beyond the limit.
func BenchmarkMemoryOverrun(b *testing.B) {
	const limit = 1000 * mib
	r := newRig(b, whole(limit))
	out, err := r.command("", r.probe, "overrun", "").Output()
	r.must(err)
	worst := 0.0
	raw := []string{"way GPU_MiB taken result"}
	for _, way := range append(strings.Fields(string(out)), "all") {
		got := r.numbers(r.command(r.library, r.probe, "overrun", way))[0]
		raw = append(raw, fmt.Sprintf("%s %.1f %.0f %.0f", way, got[0]/mib, got[1], got[2]))
		if got[2] == 0 {
			b.Errorf("%s: nothing was refused, so nothing was measured", way)
		}
		if got[0] == 0 {
			b.Errorf("%s: the GPU does not list the process", way)
		}
		worst = max(worst, got[0]-limit)
	}
	raced, line := r.race()
	raw = append(raw, line)
	figure(b, "sharer.memory_overrun_bytes", max(worst, raced), "bytes", raw)
}

// race runs the test of the ledger's protocol with a million calls. It counts what a
// GPU would hold, call by call.
func (r *rig) race() (overrun float64, line string) {
	r.b.Helper()
	cmd := exec.Command(r.build("unit")) //nolint:gosec // our own test
	cmd.Env = append(cmd.Environ(), "RACES=1000000", "ASAN_OPTIONS=detect_leaks=0")
	out, err := cmd.Output()
	if err != nil {
		r.b.Fatalf("race for the ledger: %v\n%s", err, out)
	}
	m := regexp.MustCompile(`memory_overrun_bytes (\d+) in 1000000 .*`).FindSubmatch(out)
	if m == nil {
		r.b.Fatalf("the race prints no figure:\n%s", out)
	}
	overrun, err = strconv.ParseFloat(string(m[1]), 64)
	r.must(err)
	return overrun, string(m[0])
}
