// SPDX-License-Identifier: Apache-2.0

//go:build oldglibc

package oldglibc

import (
	"bytes"
	"context"
	"debug/elf"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer/socket"
)

const (
	uuid  = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
	limit = 4 << 30
	// preloaded is where the system under test has the library.
	preloaded = "/usr/lib/aipub/"
)

// system is the old file system with one simulated GPU, of which it has a slice.
type system struct {
	t         *testing.T
	root      string
	sim, dirs string // the machine and the slices, mounted into it
	server    *socket.Server
}

func newSystem(t *testing.T) *system {
	s := &system{t: t, root: os.Getenv("OLD_ROOT"), sim: t.TempDir()}
	if s.root == "" {
		t.Fatal("OLD_ROOT is not set; run this by `make old-glibc`")
	}
	run, err := os.MkdirTemp("/dev/shm", "og") // a tmpfs, as on a node
	s.must(err)
	s.server, err = socket.New(socket.Config{Root: run, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	s.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		_ = s.server.Close()
		_ = os.RemoveAll(run)
	})
	s.dirs = filepath.Join(run, "slices")
	s.must(s.server.Set([]socket.Slice{{
		ID: "a", GPU: uuid, Tenant: "a", Permille: 250, MaxPermille: 250,
		MemoryBytes: limit, GuaranteedBytes: limit, ContextBytes: 400 << 20,
	}}))
	conf := "[machine]\nname = old\n[gpu]\nmodel = H200-141\ncount = 1\nuuid = " + uuid + "\n"
	s.must(os.WriteFile(filepath.Join(s.sim, "machine.conf"), []byte(conf), 0o644))
	if out, err := s.run("/build/gpusim", "init", "/sim/machine.conf"); err != nil {
		t.Fatalf("make the simulated machine: %v: %s", err, out)
	}
	return s
}

func (s *system) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// run runs a program in the old system as the container of the slice.
func (s *system) run(args ...string) (string, error) {
	const script = `mkdir -p "$0/run/aipub/slices" "$0/sim" && mount --bind "$1" "$0/run/aipub/slices" && mount --bind "$2" "$0/sim" && ` +
		`mount -t proc proc "$0/proc" && root=$0 && shift 2 && exec chroot "$root" "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, s.root, s.dirs, s.sim}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GPUSIM_DIR=/sim", "LD_LIBRARY_PATH=/build"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func TestEveryProgramLoadsTheLibrary(t *testing.T) {
	s := newSystem(t)
	out, err := s.run("/bin/cat", "/proc/self/maps")
	if err != nil || !strings.Contains(out, preloaded) {
		t.Errorf("cat runs without the library: %v\n%s", err, out)
	}
	if strings.Contains(out, "ERROR") || strings.Contains(out, "cannot be preloaded") {
		t.Errorf("the loader complains:\n%s", out)
	}
}

func TestComputeIsLimited(t *testing.T) {
	s := newSystem(t)
	began := time.Now()
	out, err := s.run("/build/tenant", "--kernel-us", "1000", "--burst", "8", "--seconds", "4", "--window-ms", "500")
	took := time.Since(began)
	if err != nil {
		t.Fatalf("the tenant does not run: %v\n%s", err, out)
	}
	busy := gpuTime(out)
	t.Logf("%v of GPU time in %v with a quarter of the GPU", busy, took)
	if busy == 0 {
		t.Errorf("nothing ran:\n%s", out)
	}
	if busy > took/2 {
		t.Errorf("%v of GPU time in %v: a quarter was allowed", busy, took)
	}
	var launches uint64
	for _, v := range s.server.View().Slices {
		launches += v.Work.Launches
	}
	if launches == 0 {
		t.Error("the agent has not heard of a launch")
	}
}

func TestMemoryIsLimited(t *testing.T) {
	s := newSystem(t)
	fits := strconv.Itoa(limit>>20 - 1024)
	if out, err := s.run("/build/tenant", "--alloc-mib", fits, "--seconds", "1"); err != nil {
		t.Errorf("%s MiB of %d are refused: %v\n%s", fits, limit>>20, err, out)
	}
	out, err := s.run("/build/tenant", "--alloc-mib", strconv.Itoa(limit>>20), "--seconds", "1")
	if err == nil || !strings.Contains(out, "OUT_OF_MEMORY") {
		t.Errorf("a context and %d MiB of %d are not refused as out of memory: %v\n%s", limit>>20, limit>>20, err, out)
	}
}

// gpuTime sums the third column of the tenant's windows: microseconds of GPU time.
func gpuTime(out string) time.Duration {
	sum := 0.0
	for line := range strings.Lines(out) {
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
		if len(fields) < 5 {
			continue
		}
		if _, err := strconv.ParseFloat(fields[0], 64); err != nil {
			continue // the head, the totals
		}
		us, _ := strconv.ParseFloat(fields[2], 64)
		sum += us
	}
	return time.Duration(sum) * time.Microsecond
}

// A program on musl: /etc/ld.so.preload is nothing to its loader, and LD_PRELOAD
// stops it before it begins.
func TestMuslIsNotLimitedInSilence(t *testing.T) {
	compiler, err := exec.LookPath("musl-gcc")
	if err != nil {
		t.Skip("skipped: musl-gcc is not installed; on Debian and Ubuntu: apt-get install musl-tools")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "maps.c"), filepath.Join(dir, "maps")
	const code = `#include <stdio.h>
int main(void) {
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof line, maps)) fputs(line, stdout);
	return puts("ran") < 0;
}
`
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("compile: %v: %s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"LD_PRELOAD=" + os.Getenv("LIBRARY")}
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("symbol not found")) || bytes.Contains(out, []byte("ran")) {
		t.Errorf("with LD_PRELOAD it runs, or does not say why not: %v\n%s", err, out)
	}

	// The old system has the library in /etc/ld.so.preload; musl's loader is its libc.
	s := newSystem(t)
	for from, name := range map[string]string{interpreter(t, program): "ld-musl", program: "maps"} {
		content, err := os.ReadFile(from)
		s.must(err)
		s.must(os.WriteFile(filepath.Join(s.sim, name), content, 0o755))
	}
	out, err := s.run("/sim/ld-musl", "/sim/maps")
	if err != nil || !strings.Contains(out, "ran") || strings.Contains(out, "libaipub-") {
		t.Errorf("musl heeds /etc/ld.so.preload now, so images on musl need not be refused: %v\n%s", err, out)
	}
}

// interpreter is the loader that a program names.
func interpreter(t *testing.T, program string) string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	name, err := f.Section(".interp").Data()
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimRight(name, "\x00"))
}
