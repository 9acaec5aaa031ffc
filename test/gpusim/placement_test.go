// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestTenantOnInstance: a CUDA process sees one instance of a GPU in MIG mode,
// the named one, and its memory is the instance's.
func TestTenantOnInstance(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	_, _ = instance(t, d, nvml.GPU_INSTANCE_PROFILE_3_SLICE)
	gi, ci := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	info, _ := gi.GetInfo()
	mig, _ := migDevice(t, ci)
	uuid, r := mig.GetUUID()
	must(t, "GetUUID", r)
	t.Setenv("CUDA_VISIBLE_DEVICES", uuid)
	n := startTenant(t, m, "--alloc-mib", "10000", "--gap-ms", "1")
	running, r := mig.GetComputeRunningProcesses()
	must(t, "GetComputeRunningProcesses", r)
	if len(running) != 1 || int(running[0].Pid) != n.cmd.Process.Pid || running[0].GpuInstanceId != info.Id {
		t.Errorf("on the instance: %+v, want pid %d on instance %d", running, n.cmd.Process.Pid, info.Id)
	}
	expect(t, "destroy an instance in use", ci.Destroy(), nvml.ERROR_IN_USE)
	cmd := exec.Command(m.TenantPath(), "--alloc-mib", "10000", "--seconds", "1")
	cmd.Env = append(os.Environ(), m.Env()...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "OUT_OF_MEMORY") {
		t.Errorf("an instance of 18 GiB held two times 10000 MiB: %v\n%s", err, out)
	}
}

// TestDeviceNodes: as in a container, a process uses the GPU and the instance
// whose nodes it has.
func TestDeviceNodes(t *testing.T) {
	m, lib := open(t, ThreeH200)
	dev := t.TempDir()
	t.Setenv("GPUSIM_DEV", dev)
	put := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dev, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dev, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	pids := func(d nvml.Device) (pids []int) {
		running, r := d.GetComputeRunningProcesses()
		must(t, "GetComputeRunningProcesses", r)
		for _, p := range running {
			pids = append(pids, int(p.Pid))
		}
		return pids
	}
	put("nvidiactl")
	cmd := exec.Command(m.TenantPath(), "--seconds", "1")
	cmd.Env = append(os.Environ(), m.Env()...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "CUDA_ERROR_NO_DEVICE") {
		t.Errorf("a process without a GPU's node: %v\n%s", err, out)
	}
	put("nvidia1")
	whole := startTenant(t, m, "--gap-ms", "1")
	if got := pids(deviceAt(t, lib, 1)); !slices.Equal(got, []int{whole.cmd.Process.Pid}) {
		t.Errorf("GPU 1 is used by %v, want %d", got, whole.cmd.Process.Pid)
	}
	d := deviceAt(t, lib, 0)
	migOn(t, d)
	_, first := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	gi, second := instance(t, d, nvml.GPU_INSTANCE_PROFILE_1_SLICE)
	info, _ := gi.GetInfo()
	minor := 3 + info.Id*9 // GPU 0, see README.md
	put("nvidia0")
	put(fmt.Sprintf("nvidia-caps/nvidia-cap%d", minor))
	put(fmt.Sprintf("nvidia-caps/nvidia-cap%d", minor+1))
	part := startTenant(t, m, "--gap-ms", "1")
	mine, _ := migDevice(t, second)
	other, _ := migDevice(t, first)
	if got := pids(mine); !slices.Equal(got, []int{part.cmd.Process.Pid}) || len(pids(other)) != 0 {
		t.Errorf("the instance with nodes is used by %v and the other by %v, want %d and nobody", got, pids(other), part.cmd.Process.Pid)
	}
}

// TestConcurrentContexts: without time slicing no context waits for another's
// turn, and together they do no more than the GPU can.
func TestConcurrentContexts(t *testing.T) {
	m := New(t, strings.Replace(ThreeH200, "contexts = time-sliced", "contexts = concurrent", 1))
	a, b := shareOfTwo(t, m, 100000)
	if a+10 < b || b+10 < a {
		t.Errorf("one got %d us and the other %d us of a rate that they share equally", a, b)
	}
}

// TestPIDsOfOtherNamespaces: NVML tells the pid that the asking process knows.
func TestPIDsOfOtherNamespaces(t *testing.T) {
	m, lib := open(t, ThreeH200)
	d := deviceAt(t, lib, 0)
	cmd := exec.Command(m.TenantPath(), "--gap-ms", "1")
	cmd.Env = append(os.Environ(), m.Env()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		t.Skipf("skipped: cannot make a PID namespace: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var running []nvml.ProcessInfo
	eventually("the process has a context", t, func() bool {
		running, _ = d.GetComputeRunningProcesses()
		return len(running) == 1
	})
	if int(running[0].Pid) != cmd.Process.Pid {
		t.Errorf("NVML says pid %d, here it is %d, in its namespace 1", running[0].Pid, cmd.Process.Pid)
	}
}

// TestTenantOfLostGPU: work on a GPU that falls off the bus ends with an error.
func TestTenantOfLostGPU(t *testing.T) {
	m := New(t, ThreeH200)
	cmd := exec.Command(m.TenantPath(), "--kernel-us", "100000000")
	cmd.Env = append(os.Environ(), m.Env()...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually("it waits for its kernel", t, func() bool {
		c := contextsOf(t, m)
		return len(c) == 1 && c[0].BusyUs > 5000
	})
	m.Ctl("lose", "0")
	if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), fmt.Sprint(999)) {
		t.Errorf("a program whose GPU is lost ended with %v, %q", err, stderr.String())
	}
}

// TestRootHasCUDA: the driver root has the library of the machine's version,
// and the program that uses it.
func TestRootHasCUDA(t *testing.T) {
	for version, description := range map[string]string{
		"13.0": ThreeH200,
		"12.4": strings.Replace(ThreeH200, "cuda-version = 13.0", "cuda-version = 12.4", 1),
	} {
		m := New(t, description)
		root := m.InstallRoot()
		library := filepath.Join(root, "usr/lib/x86_64-linux-gnu/libcuda.so.1")
		if symbolsOf(t, library) != symbolsOf(t, m.CUDALibraryPath(version)) {
			t.Errorf("the root of a machine with CUDA %s has another library", version)
		}
		cmd := exec.Command(filepath.Join(root, "usr/bin/tenant"), "--seconds", "1", "--window-ms", "100")
		cmd.Env = append(os.Environ(), "GPUSIM_DIR="+m.Dir(), "LD_LIBRARY_PATH="+filepath.Dir(library))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "total ") {
			t.Errorf("the tenant from the root of CUDA %s: %v\n%s", version, err, out)
		}
	}
}
