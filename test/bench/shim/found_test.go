// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/sharer/attach"
	"aipub.io/aipub/sharer/socket"
)

// BenchmarkUnattachedFound starts programs without the library at random moments
// beside an auditor that looks as often as the agent does. The figure is the longest
// time from a program's start until it is found, the time that it took to get to
// the GPU included.
func BenchmarkUnattachedFound(b *testing.B) {
	const runs, every = 8, 500 * time.Millisecond // the agent's auditEvery
	r := newRig(b, whole(1<<30))
	r.machine.Activate()
	driver, err := nvml.Open(nvml.Config{LibraryPath: r.machine.LibraryPath()})
	r.must(err)
	defer func() { _ = driver.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	auditor, proc := attach.New(attach.Config{}), attach.NewProc("")
	pod := attach.Container{PodUID: "11111111-2222-3333-4444-555555555555"}
	worst := time.Duration(0)
	raw := []string{"run found_after_s"}
	random := rand.New(rand.NewPCG(1, 2))
	next := time.Now()
	look := func() []attach.Finding {
		time.Sleep(time.Until(next))
		next = next.Add(every)
		s := attach.Sample{At: socket.MonotonicNow(), Slices: []attach.Slice{{ID: "a", GPU: uuid, MemoryBytes: 1 << 30, Holder: pod}}}
		processes, err := driver.Processes(ctx, uuid)
		r.must(err)
		for _, p := range processes {
			if id, _, err := proc.Process(p.PID); err == nil {
				s.OnGPU = append(s.OnGPU, attach.OnGPU{Process: id, GPU: uuid, Container: pod, UsedBytes: uint64(p.MemoryBytes), BusyPercent: -1})
			}
		}
		return auditor.Observe(s).Findings
	}
	for i := range runs {
		look()
		time.Sleep(time.Duration(random.Int64N(int64(every))))
		tenant := r.command("", r.machine.TenantPath(), "--window-ms", "100")
		r.must(tenant.Start())
		began := time.Now()
		for found := false; !found; {
			for _, f := range look() {
				found = found || f.Reason == attach.NotAttached && f.Process.PID == tenant.Process.Pid
			}
			r.must(ctx.Err())
		}
		took := time.Since(began)
		r.must(tenant.Process.Kill())
		_ = tenant.Wait() // it was killed
		worst = max(worst, took)
		raw = append(raw, fmt.Sprintf("%d %.3f", i, took.Seconds()))
	}
	figure(b, "sharer.unattached_found_s", round(worst.Seconds(), 2), "s", raw)
}

// lines of a program's output.
func lines(out []byte) []string { return strings.Split(strings.TrimSpace(string(out)), "\n") }
