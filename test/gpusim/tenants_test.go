// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// tenant is a running tenant program.
type tenant struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

// startTenant starts one and returns when it has its context and its memory.
func startTenant(t *testing.T, m *Machine, args ...string) *tenant {
	t.Helper()
	cmd := exec.Command(m.TenantPath(), append([]string{"--window-ms", "50"}, args...)...)
	cmd.Env = append(os.Environ(), m.Env()...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	n := &tenant{cmd, bufio.NewScanner(out)}
	if !n.out.Scan() { // the header
		t.Fatal("the tenant ended before its first burst")
	}
	return n
}

// total ends a tenant and returns the GPU microseconds it got.
func (n *tenant) total(t *testing.T) float64 {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for n.out.Scan() {
		rest, ok := strings.CutPrefix(n.out.Text(), "total ")
		if !ok {
			continue
		}
		us, err := strconv.ParseFloat(strings.Split(rest, ",")[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		return us
	}
	t.Fatal("the tenant printed no total")
	return 0
}

// contexts are what gpusim state tells of GPU 0.
type context struct {
	PID    int    `json:"pid"`
	BusyUs uint64 `json:"busyUs"`
	Queued uint64 `json:"queued"`
}

func contextsOf(t *testing.T, m *Machine) []context {
	t.Helper()
	var state struct {
		GPUs []struct {
			Contexts []context `json:"contexts"`
		} `json:"gpus"`
	}
	if err := json.Unmarshal([]byte(m.Ctl("state", "-o", "json")), &state); err != nil {
		t.Fatal(err)
	}
	return state.GPUs[0].Contexts
}

// eventually waits, without a bound of its own, for what must come; the test
// binary's timeout is the only judge of time.
func eventually(what string, t *testing.T, ok func() bool) {
	t.Helper()
	for !ok() {
		if deadline, has := t.Deadline(); has && time.Until(deadline) < time.Second {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// shareOfTwo starts two processes with work at all times and returns what each
// got, in microseconds of both of one moment, once they got more than so many.
func shareOfTwo(t *testing.T, m *Machine, us uint64) (a, b uint64) {
	t.Helper()
	args := []string{"--kernel-us", "2000", "--burst", "1000"} // four seconds of work for two
	startTenant(t, m, args...)
	startTenant(t, m, args...)
	var before, after []context
	eventually("both have work", t, func() bool {
		before = contextsOf(t, m)
		return len(before) == 2 && before[0].Queued > 100 && before[1].Queued > 100
	})
	eventually(fmt.Sprintf("the GPU has worked for %d us more", us), t, func() bool {
		after = contextsOf(t, m)
		return after[0].BusyUs+after[1].BusyUs > before[0].BusyUs+before[1].BusyUs+us
	})
	return after[0].BusyUs - before[0].BusyUs, after[1].BusyUs - before[1].BusyUs
}

// TestTenantsShareTime: two processes with work at all times get turns of the
// same length. The simulated GPU's own account is compared, both of one moment,
// so how the machine schedules the processes does not matter.
func TestTenantsShareTime(t *testing.T) {
	m := New(t, ThreeH200)
	a, b := shareOfTwo(t, m, 200000)
	if a+2100 < b || b+2100 < a {
		t.Errorf("one got %d us and the other %d us: more than a turn of 2000 us apart", a, b)
	}
}

// TestKilledTenant: nothing of a process is left after SIGKILL, in the middle
// of work: neither memory, nor its place in line, nor its NVML entry.
func TestKilledTenant(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	n := startTenant(t, m, "--kernel-us", "100000", "--burst", "100", "--alloc-mib", "1000")
	eventually("it has queued work", t, func() bool { return contextsOf(t, m)[0].Queued > 50 })
	running, r := d.GetComputeRunningProcesses()
	must(t, "GetComputeRunningProcesses", r)
	if len(running) != 1 || int(running[0].Pid) != n.cmd.Process.Pid || running[0].UsedGpuMemory != 1400<<20 {
		t.Fatalf("NVML sees %+v, want pid %d with 1400 MiB", running, n.cmd.Process.Pid)
	}
	if err := n.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = n.cmd.Wait()
	if running, _ := d.GetComputeRunningProcesses(); len(running) != 0 {
		t.Errorf("NVML still sees %+v", running)
	}
	memory, _ := d.GetMemoryInfo_v2()
	if memory.Used != 0 {
		t.Errorf("%d bytes are still used", memory.Used)
	}
	if left := contextsOf(t, m); len(left) != 0 {
		t.Errorf("contexts are left: %+v", left)
	}
	// Its 10 s of queued work would hold up the next one.
	n = startTenant(t, m, "--kernel-us", "1000")
	eventually("the next tenant's work is done", t, func() bool { return contextsOf(t, m)[0].BusyUs > 10000 })
	if got := n.total(t); got < 9000 {
		t.Errorf("the next tenant counts %f us of work", got)
	}
}

// TestMemoryIsShared: a GPU is full when all processes together hold it.
func TestMemoryIsShared(t *testing.T) {
	m := New(t, ThreeH200)
	startTenant(t, m, "--alloc-mib", "100000", "--gap-ms", "10")
	cmd := exec.Command(m.TenantPath(), "--alloc-mib", "43000", "--seconds", "1")
	cmd.Env = append(os.Environ(), m.Env()...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CUDA_ERROR_OUT_OF_MEMORY") {
		t.Errorf("143220 MiB held 100000 and 43000 MiB and two contexts: %v\n%s", err, out)
	}
	startTenant(t, m, "--alloc-mib", "42400", "--gap-ms", "10")
}

// TestUtilizationFollowsWork: NVML's rates and samples come from the kernels.
func TestUtilizationFollowsWork(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	n := startTenant(t, m, "--kernel-us", "5000", "--burst", "50")
	eventually("a busy sample", t, func() bool {
		util, r := d.GetUtilizationRates()
		must(t, "GetUtilizationRates", r)
		samples, r := d.GetProcessUtilization(0)
		return r == nvml.SUCCESS && util.Gpu > 50 && len(samples) == 1 && samples[0].SmUtil > 50 &&
			int(samples[0].Pid) == n.cmd.Process.Pid
	})
	if err := n.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	eventually("an idle sample", t, func() bool {
		util, _ := d.GetUtilizationRates()
		return util.Gpu == 0
	})
}

// TestLibraryOfEachVersion: each has the driver version in its name, the calls
// of that version and not the later ones.
func TestLibraryOfEachVersion(t *testing.T) {
	m := New(t, ThreeH200)
	since := map[string]string{
		"cuMemAllocAsync_ptsz": "11.4", "cuLibraryLoadData": "12.0", "cuGreenCtxCreate": "12.4",
		"cuCheckpointProcessLock": "12.9", "cuCtxGetDevice_v2": "13.0", "cuMulticastBindMem_v2": "13.3",
	}
	all := ""
	for _, version := range CUDAVersions() {
		symbols := symbolsOf(t, m.CUDALibraryPath(version))
		for name, first := range since {
			older := slices.Index(CUDAVersions(), version) < slices.Index(CUDAVersions(), first)
			if has := strings.Contains(symbols, " "+name+"\n"); has == older {
				t.Errorf("CUDA %s has %s: %v", version, name, has)
			}
		}
		if version == "13.3" {
			all = symbols
		}
		if has := strings.Contains(symbols, " cuLaunchCooperativeKernelMultiDevice\n"); has == (version >= "13") {
			t.Errorf("CUDA %s has cuLaunchCooperativeKernelMultiDevice: %v", version, has)
		}
	}
	if got := symbolsOf(t, m.CUDALibraryPath("")); got != all {
		t.Error("the default library exports other calls than the newest version's")
	}
	if got := strings.Replace(symbolsOf(t, m.NoopCUDALibraryPath()), " gpusim_noop_calls\n", "", 1); got != all {
		t.Error("the driver that does nothing exports other calls than the newest version's")
	}
}

// symbolsOf are the names that a library exports, sorted, each as " NAME\n".
func symbolsOf(t *testing.T, library string) string {
	t.Helper()
	out, err := exec.Command("nm", "-D", "--defined-only", "--format=just-symbols", library).Output()
	if err != nil {
		t.Fatalf("list symbols of %s: %v", library, err)
	}
	names := strings.Fields(string(out))
	slices.Sort(names)
	return " " + strings.Join(names, "\n ") + "\n"
}
