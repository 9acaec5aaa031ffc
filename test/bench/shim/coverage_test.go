// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"fmt"
	"path/filepath"
	"testing"

	"aipub.io/aipub/test/gpusim"
)

// BenchmarkABICoverage counts, for the driver of each CUDA version, the functions that
// the library takes or knows and leaves alone. What it does not know passes unseen.
// The figure is the worst version's. Programs that ask for per-thread-stream forms and
// for older versions of a function must get those.
func BenchmarkABICoverage(b *testing.B) {
	r := newRig(b, whole(1<<30))
	client, next := r.client(), r.build("libnext.so")
	worst := 100.0
	raw := []string{"cuda routed passed unknown"}
	for _, version := range gpusim.CUDAVersions() {
		path := "LD_LIBRARY_PATH=" + filepath.Dir(r.machine.CUDALibraryPath(version)) + ":" + filepath.Dir(r.machine.LibraryPath())
		abi := r.command(r.library, client, "abi", version)
		abi.Env = append(abi.Env, path)
		out, _ := abi.CombinedOutput() // its status is about what is counted here
		var of string
		var routed, passed, unknown float64
		for _, line := range lines(out) {
			if n, _ := fmt.Sscanf(line, "ABI cuda-%s routed %g passed %g unknown %g", &of, &routed, &passed, &unknown); n == 4 {
				break
			}
		}
		if of != version {
			b.Fatalf("CUDA %s: no count:\n%s", version, out)
		}
		raw = append(raw, fmt.Sprintf("%s %g %g %g", version, routed, passed, unknown))
		worst = min(worst, 100*(routed+passed)/(routed+passed+unknown))
		if version == "11.4" || version == "12.0" {
			continue // they lack the newer resolver, whose answers the next program checks too
		}
		resolve := r.command(r.library+":"+next, client, "resolve")
		resolve.Env = append(resolve.Env, path, "AIPUB_SLICES_DIR="+r.slices)
		if out, err := resolve.CombinedOutput(); err != nil {
			b.Errorf("CUDA %s: a resolver's answer is wrong: %v\n%s", version, err, out)
		}
	}
	figure(b, "sharer.abi_coverage_percent", round(worst, 2), "%", raw)
}

// client is the library's own test program, which counts and checks.
func (r *rig) client() string {
	r.b.Helper()
	sources, err := filepath.Glob(filepath.Join(repo, "sharer/shim/ctest/client*.c"))
	r.must(err)
	out := filepath.Join(r.b.TempDir(), "client")
	driver := []string{"-Wl,--allow-shlib-undefined", "-L" + filepath.Dir(r.machine.CUDALibraryPath("")), "-l:libcuda.so.1"}
	r.compile(out, append(sources, driver...)...)
	return out
}
