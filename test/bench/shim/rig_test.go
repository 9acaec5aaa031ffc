// SPDX-License-Identifier: Apache-2.0

package shim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
	"aipub.io/aipub/test/gpusim"
)

// repo is the root of the repository, uuid the simulated GPU.
const (
	repo = "../../.."
	uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
	mib  = 1 << 20
)

// rig is a GPU with a sharer, and the programs that use it.
type rig struct {
	b              *testing.B
	machine        *gpusim.Machine
	server         *socket.Server
	slices         string
	probe, library string
}

func newRig(b *testing.B, all ...socket.Slice) *rig {
	b.Helper()
	r := &rig{b: b, machine: gpusim.New(b, "[machine]\nname = bench\n[gpu]\nmodel = H200-141\ncount = 1\nuuid = "+uuid+"\n")}
	root, err := os.MkdirTemp("/dev/shm", "bs") // a tmpfs, as on a node
	r.must(err)
	r.server, err = socket.New(socket.Config{Root: root})
	r.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.server.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		<-done
		_ = r.server.Close()
		_ = os.RemoveAll(root)
	})
	r.must(r.server.Set(all))
	r.slices = filepath.Join(root, "slices")
	r.probe = filepath.Join(b.TempDir(), "probe")
	r.compile(r.probe, "-O2", "probe/main.c", "probe/storm.c", "probe/overrun.c")
	r.library = r.preloaded()
	return r
}

// whole is a slice of the whole GPU with so much memory.
func whole(memory uint64) socket.Slice {
	return socket.Slice{
		ID: "a", GPU: uuid, Tenant: "a", Permille: 1000, MaxPermille: 1000, Lend: true, Borrow: true,
		MemoryBytes: memory, GuaranteedBytes: memory, ContextBytes: 400 * mib,
	}
}

func (r *rig) must(err error) {
	r.b.Helper()
	if err != nil {
		r.b.Fatal(err)
	}
}

func (r *rig) compile(out string, args ...string) {
	r.b.Helper()
	args = append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-g", "-o", out}, args...)
	if text, err := exec.Command("cc", args...).CombinedOutput(); err != nil { //nolint:gosec // our own sources
		r.b.Fatalf("compile %s: %v\n%s", filepath.Base(out), err, text)
	}
}

// build builds a target of the library's Makefile in a folder of our own.
func (r *rig) build(target string) string {
	r.b.Helper()
	out, err := filepath.Abs("build")
	r.must(err)
	path := filepath.Join(out, target)
	if text, err := exec.Command("make", "-s", "-C", filepath.Join(repo, "sharer/shim"), "OUT="+out, path).CombinedOutput(); err != nil { //nolint:gosec // our own Makefile
		r.b.Fatalf("make %s: %v\n%s", target, err, text)
	}
	return path
}

// preloaded builds the library and gives its path.
func (r *rig) preloaded() string {
	r.b.Helper()
	path, err := os.ReadFile(r.build("path"))
	r.must(err)
	return strings.TrimSpace(string(path))
}

// command is a program with the slices and the library, as in a container; an empty
// library means without.
func (r *rig) command(library string, args ...string) *exec.Cmd {
	env := append(os.Environ(), r.machine.Env()...)
	if library != "" && os.Getuid() != 0 {
		env = append(env, "LD_PRELOAD="+library, "AIPUB_SLICES_DIR="+r.slices)
	}
	if library == "" || os.Getuid() != 0 {
		cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // the program under test
		cmd.Env = env
		return cmd
	}
	const script = `mkdir -p "$0" && mount --rbind "$1" "$0" && LD_PRELOAD=$2 && export LD_PRELOAD && shift 2 && exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, wire.SlicesDir, r.slices, library}, args...)...) //nolint:gosec // the program under test
	cmd.Env = env
	return cmd
}

// numbers runs a program to its end and reads the lines of numbers that it prints.
func (r *rig) numbers(cmd *exec.Cmd) [][]float64 {
	r.b.Helper()
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		r.b.Fatalf("run %s: %v: %s%s", strings.Join(cmd.Args, " "), err, complaint.String(), out)
	}
	var rows [][]float64
	for line := range strings.Lines(string(out)) {
		var row []float64
		for _, field := range strings.Fields(line) {
			n, err := strconv.ParseFloat(field, 64)
			r.must(err)
			row = append(row, n)
		}
		rows = append(rows, row)
	}
	return rows
}

// noop makes a command use the driver that does nothing.
func (r *rig) noop(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Dir(r.machine.NoopCUDALibraryPath()))
	return cmd
}

// figure prints a figure and keeps its raw data.
func figure(b *testing.B, name string, value float64, unit string, raw []string) {
	b.Helper()
	fmt.Printf("BENCH %s %s %s\n", name, strconv.FormatFloat(value, 'f', -1, 64), unit)
	dir := os.Getenv("BENCH_OUT")
	if dir == "" {
		return
	}
	load, _ := os.ReadFile("/proc/loadavg")
	raw = append([]string{"# " + time.Now().UTC().Format(time.RFC3339) + ", load " + strings.TrimSpace(string(load))}, raw...)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(raw, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // for people to read
		b.Fatal(err)
	}
}

// quantile of values, which it does not change.
func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

func round(v float64, digits int) float64 {
	n, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	return n
}

func column(rows [][]float64, i int) []float64 {
	var out []float64
	for _, row := range rows {
		out = append(out, row[i])
	}
	return out
}
