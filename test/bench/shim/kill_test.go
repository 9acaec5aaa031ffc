// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// BenchmarkKillRecovery kills a program at each step of what its library shares with
// the agent, from taking a slot to giving back a lease. The figure is the longest time
// from a kill until the dead program's bytes are free and no lease is held for it.
func BenchmarkKillRecovery(b *testing.B) {
	r := newRig(b, whole(8<<30))
	library := r.killing()
	worst, steps := time.Duration(0), 0
	raw := []string{"step point recovery_ms"}
	for at := 1; ; at++ {
		point, recovery := r.killAt(library, at)
		if point == 0 {
			break // it ended before there was such a step
		}
		steps, worst = at, max(worst, recovery)
		raw = append(raw, fmt.Sprintf("%d %d %.3f", at, point, recovery.Seconds()*1e3))
	}
	if steps < 30 {
		b.Fatalf("the program went through %d steps only; it does not do what it is to be killed at", steps)
	}
	figure(b, "sharer.kill_recovery_s", round(worst.Seconds(), 4), "s", raw)
}

// killing is the library with a step between any two stores at which it can end.
func (r *rig) killing() string {
	out := filepath.Join(r.b.TempDir(), "libaipub-killing.so")
	sources, err := filepath.Glob(filepath.Join(repo, "sharer/shim/*.c"))
	r.must(err)
	args := []string{
		"-O2", "-DAIPUB_TEST", "-fPIC", "-fvisibility=hidden", "-ftls-model=initial-exec", "-fno-strict-aliasing", "-fexcess-precision=standard",
		"-shared", "-Wl,--version-script=" + filepath.Join(repo, "sharer/shim/exports.map"), "-Wl,-z,nodelete", "-Wl,-Bsymbolic", "-Wl,--build-id=sha1",
	}
	r.compile(out, append(append(args, sources...), "probe/step.c")...)
	return out
}

// killAt runs a program that ends at its nth step. It gives the point in the sources,
// and how long after its end nothing of it was left; 0 for a program that went through.
func (r *rig) killAt(library string, n int) (point int64, recovery time.Duration) {
	r.b.Helper()
	log := filepath.Join(r.b.TempDir(), "killed")
	cmd := r.command(library, r.probe, "work")
	cmd.Env = append(cmd.Env, fmt.Sprintf("KILL_AT=%d", n), "KILL_LOG="+log)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, 0
	case !errors.As(err, &exit) || !killed(exit):
		r.b.Fatalf("step %d: %v\n%s", n, err, out)
	}
	note, err := os.ReadFile(log)
	r.must(err)
	at := sharer.Instant(binary.NativeEndian.Uint64(note))
	point = int64(binary.NativeEndian.Uint64(note[8:]))
	for deadline := time.Now().Add(time.Minute); !r.nothingLeft(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(deadline) {
			r.b.Fatalf("killed at step %d (point %d), after a minute this is left: %+v", n, point, r.server.View())
		}
	}
	return point, socket.MonotonicNow().Sub(at)
}

func killed(e *exec.ExitError) bool {
	s, ok := e.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// nothingLeft is that the slice is as it was before any program: in the agent's view,
// and in the page, where slots may be taken that the agent never heard of.
func (r *rig) nothingLeft() bool {
	v := r.server.View()
	if len(v.Slices[0].Processes) > 0 || v.Slices[0].Memory.Total() > 0 || v.Tenants[0].Lease != wire.LeaseNone {
		return false
	}
	page, err := os.ReadFile(filepath.Join(r.slices, "a", "page"))
	r.must(err)
	for _, b := range page[4096:] { // the slots follow the header, wire.h
		if b != 0 {
			return false
		}
	}
	return true
}
