// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"aipub.io/aipub/test/gpusim"
)

// rig is a simulated machine and the tool, built for it.
type rig struct {
	*testing.T
	machine *gpusim.Machine
}

func newRig(t *testing.T, cuda string) (rig, Tool) {
	m := gpusim.New(t, gpusim.ThreeH200)
	for _, e := range m.Env() {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	out := t.TempDir()
	if text, err := exec.Command("make", "-s", "-C", "tool", "OUT="+out).CombinedOutput(); err != nil {
		t.Fatalf("build the tool: %v\n%s", err, text)
	}
	return rig{t, m}, Tool{Path: filepath.Join(out, ToolFile), Library: m.CUDALibraryPath(cuda)}
}

// tenant starts a program that holds so much of GPU 0 and works; false when it
// gets no memory.
func (r rig) tenant(gib int) (*exec.Cmd, bool) {
	r.Helper()
	cmd := exec.Command(r.machine.TenantPath(), "--window-ms", "20", "--alloc-mib", strconv.Itoa(gib<<10))
	cmd.Env = append(os.Environ(), r.machine.Env()...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out).Scan()
}

func TestAParkedProcessLeavesItsMemoryToOthers(t *testing.T) {
	r, tool := newRig(t, "")
	ctx := t.Context()
	if err := tool.Probe(ctx); err != nil {
		t.Fatal(err)
	}
	first, ok := r.tenant(100)
	if !ok {
		t.Fatal("the first tenant got no memory")
	}
	pid := first.Process.Pid
	if _, ok := r.tenant(100); ok {
		t.Fatal("200 of 140 GiB were given out; nothing can be learnt from this")
	}
	if err := tool.Park(ctx, pid); err != nil {
		t.Fatal(err)
	}
	if err := tool.Park(ctx, pid); err != nil {
		t.Errorf("a process that is parked cannot be parked again: %v", err)
	}
	second, ok := r.tenant(100)
	if !ok {
		t.Fatal("the parked process still has its memory")
	}
	if err := tool.Restore(ctx, pid); err == nil || !strings.Contains(err.Error(), "OUT_OF_MEMORY") {
		t.Errorf("restored beside another that has the memory, or the reason is missing: %v", err)
	}
	_ = second.Process.Signal(syscall.SIGTERM) // it frees what it has
	_ = second.Wait()
	if err := tool.Restore(ctx, pid); err != nil {
		t.Error(err)
	}
	if state, err := tool.run(ctx, "state", pid); err != nil || state != "running" {
		t.Errorf("the process is %q, %v, want running", state, err)
	}
}

func TestADriverWithoutCheckpointsIsSaidToBeOne(t *testing.T) {
	_, tool := newRig(t, "12.4")
	if err := tool.Probe(t.Context()); !errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "cuCheckpointProcess") {
		t.Errorf("CUDA 12.4: %v, want %v and the call that is missing", err, ErrUnable)
	}
	tool.Library = filepath.Join(t.TempDir(), "libcuda.so.1")
	if err := tool.Probe(t.Context()); !errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), tool.Library) {
		t.Errorf("no library: %v, want %v and its path", err, ErrUnable)
	}
}

func TestAProcessWithoutAGPUCannotBeParked(t *testing.T) {
	_, tool := newRig(t, "")
	if err := tool.Park(t.Context(), os.Getpid()); err == nil || errors.Is(err, ErrUnable) || !strings.Contains(err.Error(), "INVALID_VALUE") {
		t.Errorf("got %v, want the driver's refusal", err)
	}
}
