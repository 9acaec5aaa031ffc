// SPDX-License-Identifier: Apache-2.0

// Package gpusim gives tests a simulated NVIDIA machine: a strict
// libnvidia-ml.so.1 and libcuda.so.1 with the real C ABI, driven by a
// description.
//
// A machine is a directory. Programs find it by the environment variable
// GPUSIM_DIR, which the library reads when nvmlInit opens its first session.
// So machines are independent of each other as long as each is used by its own
// processes (see [Machine.Env]). Inside one process NVML is a process-wide
// library, simulated or real: [Machine.Activate] makes one machine the
// process's own until the test ends, and tests that need another wait.
package gpusim

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Machine is one simulated machine. It is valid until its test ends.
type Machine struct {
	tb    testing.TB
	dir   string
	built built
}

// New makes a machine from a description (see machines/ and README.md),
// powered on, in a private directory. It builds the simulator when this
// version of its sources was not built before; that takes a C compiler and
// make. New may be used in parallel tests.
func New(tb testing.TB, description string) *Machine {
	tb.Helper()
	b, err := build()
	if err != nil {
		tb.Fatalf("build the GPU simulator: %v", err)
	}
	m := &Machine{tb: tb, dir: tb.TempDir(), built: b}
	if _, err := m.ctl(strings.NewReader(description), "init", "-"); err != nil {
		tb.Fatal(err)
	}
	return m
}

// LibraryPath is the simulated libnvidia-ml.so.1.
func (m *Machine) LibraryPath() string { return filepath.Join(m.built.dir, "libnvidia-ml.so.1") }

// ToolPath is the gpusim tool.
func (m *Machine) ToolPath() string { return filepath.Join(m.built.dir, "gpusim") }

// CUDALibraryPath is the simulated libcuda.so.1 of a driver version such as
// "12.4" (see CUDAVersions), or with "" the default one, which has every call
// and the CUDA version that the machine's description says.
func (m *Machine) CUDALibraryPath(version string) string {
	if version == "" {
		return filepath.Join(m.built.dir, "libcuda.so.1")
	}
	return filepath.Join(m.built.dir, "cuda-"+version, "libcuda.so.1")
}

// CUDAVersions are the driver versions that have a library of their own.
func CUDAVersions() []string { return []string{"11.4", "12.0", "12.4", "12.9", "13.0", "13.3"} }

// NoopCUDALibraryPath is a libcuda.so.1 whose calls succeed and do nothing, to
// measure what a preloaded library adds to them. It needs no machine.
func (m *Machine) NoopCUDALibraryPath() string {
	return filepath.Join(m.built.dir, "noop", "libcuda.so.1")
}

// TenantPath is a program that uses a GPU, simulated or real, with kernels of
// a given length; its --help says how.
func (m *Machine) TenantPath() string { return filepath.Join(m.built.dir, "tenant") }

// Dir is the machine's directory, the value of GPUSIM_DIR.
func (m *Machine) Dir() string { return m.dir }

// Env is what a process needs to run on this machine: GPUSIM_DIR, and
// LD_LIBRARY_PATH for programs that open libnvidia-ml.so.1 or libcuda.so.1 by
// name.
func (m *Machine) Env() []string {
	return []string{"GPUSIM_DIR=" + m.dir, "LD_LIBRARY_PATH=" + m.built.dir}
}

// Ctl runs a verb of the gpusim tool, fails the test when it is refused, and
// returns what it printed.
func (m *Machine) Ctl(args ...string) string {
	m.tb.Helper()
	out, err := m.TryCtl(args...)
	if err != nil {
		m.tb.Fatal(err)
	}
	return out
}

// TryCtl is Ctl for verbs that may be refused; the error holds the tool's words.
func (m *Machine) TryCtl(args ...string) (string, error) { return m.ctl(nil, args...) }

func (m *Machine) ctl(stdin *strings.Reader, args ...string) (string, error) {
	cmd := exec.Command(m.ToolPath(), append([]string{"--dir", m.dir}, args...)...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("gpusim %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// InstallRoot lays the machine's driver root (see README.md) and returns its
// path. It makes device nodes, so it needs CAP_MKNOD.
func (m *Machine) InstallRoot() string {
	m.tb.Helper()
	dir := filepath.Join(m.dir, "root")
	m.Ctl("install-root", dir)
	return dir
}

// UnderRoot is a command on this machine that sees the root's /proc/driver
// in place of the host's, which nvcdi needs for MIG devices. It needs
// InstallRoot and CAP_SYS_ADMIN.
func (m *Machine) UnderRoot(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(m.ToolPath(), append([]string{"run", "--", name}, args...)...)
	cmd.Env = append(os.Environ(), m.Env()...)
	return cmd
}

// active is held by the test whose machine is this process's own.
var active sync.Mutex

// Activate makes m the machine of this process until the test ends: an NVML
// session opened meanwhile is on m. It waits for other tests that hold a
// machine active, so a test must not activate two; [Machine.Switch] changes
// from one to the other. Sessions must be closed before the test ends.
func (m *Machine) Activate() {
	m.tb.Helper()
	active.Lock()
	old, had := os.LookupEnv("GPUSIM_DIR")
	m.Switch()
	m.tb.Cleanup(func() {
		if had {
			_ = os.Setenv("GPUSIM_DIR", old)
		} else {
			_ = os.Unsetenv("GPUSIM_DIR")
		}
		active.Unlock()
	})
}

// Switch makes m the process's machine in a test that has one active already.
// It takes effect at the next nvmlInit that opens a session.
func (m *Machine) Switch() {
	m.tb.Helper()
	if err := os.Setenv("GPUSIM_DIR", m.dir); err != nil {
		m.tb.Fatal(err)
	}
}
