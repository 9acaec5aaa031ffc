// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	loan "aipub.io/aipub/sharer/memory"
	"aipub.io/aipub/sharer/wire"
	"aipub.io/aipub/test/gpusim"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// lending has a set that may borrow memory and one that has half of each GPU.
const lending = `
gpus: [{indices: [0], mode: Block}, {mode: Whole}]
sets:
- {name: half,  gpu: {blockPercent: 50}}
- {name: burst, gpu: {blockPercent: 20}, sharing: {borrowMemory: true}}
`

// market is a node whose agent lends memory to real processes, which have the
// real library.
type market struct {
	*rig
	library          string
	owner, borrower  string // slices
	borrowing, owned fakekubelet.Pod
}

// newMarket runs an agent, with the tool for checkpoints or without, and the pods
// of an owner and a borrower. More is added to the policy.
func newMarket(t *testing.T, checkpoints bool, more string) *market {
	r := newRig(t, gpusim.ThreeH200)
	r.limit()
	image := t.TempDir()
	make := func(dir string) {
		t.Helper()
		if out, err := exec.Command("make", "-s", "-C", dir, "OUT="+image, "CFLAGS=-O1 -g").CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", dir, err, out)
		}
	}
	make("../../sharer/shim")
	if checkpoints {
		make("../../sharer/checkpoint/tool")
	}
	r.must(os.WriteFile(filepath.Join(image, "aipub-cdi-hook"), []byte("hook"), 0o755))
	r.options.limiterDir = image
	found, err := filepath.Glob(filepath.Join(image, "libaipub-*.so"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the library is %v, %v", found, err)
	}
	r.want(lending + more)
	r.start()
	r.allocatable("burst", 5)
	r.allocatable("half", 2)
	m := &market{rig: r, library: found[0]}
	var ids []string
	m.owned, ids = r.pod("half", 1)
	m.owner = ids[0]
	m.borrowing, ids = r.pod("burst", 1)
	m.borrower = ids[0]
	return m
}

// tenant runs a program in a slice. It holds so much memory, works, by more options
// otherwise than with a pause after each kernel, and ends with the test.
func (m *market) tenant(slice string, gib int, more ...string) (*exec.Cmd, *bufio.Scanner) {
	m.t.Helper()
	dir, err := os.MkdirTemp("", "t") // short: a socket is below it
	m.must(err)
	m.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m.must(os.Symlink(m.folder(slice), filepath.Join(dir, slice)))
	args := []string{"env", "LD_PRELOAD=" + m.library, "AIPUB_SLICES_DIR=" + dir, m.machine.TenantPath(),
		"--window-ms", "20", "--gap-ms", "5", "--alloc-mib", strconv.Itoa(gib << 10)}
	args = append(args, more...)
	if _, err := os.Stat(wire.SlicesDir); err == nil { // of another agent; the library would believe it
		args = append([]string{"unshare", "--mount", "sh", "-c", `mount --bind "$0" "$1" && shift && exec "$@"`, dir, wire.SlicesDir}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), m.machine.Env()...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	m.must(err)
	m.must(cmd.Start())
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// limitGiB is what the grant of a slice allows. The offset is the one of
// memory_bytes in wire.h.
func (m *market) limitGiB(slice string) int {
	grant, err := os.ReadFile(filepath.Join(m.folder(slice), "grant"))
	if err != nil || len(grant) < 184 {
		return 0
	}
	return int(binary.NativeEndian.Uint64(grant[176:]) >> 30)
}

// borrow lets the borrower take four fifths of the GPU.
func (m *market) borrow() *exec.Cmd {
	m.t.Helper()
	m.eventually("the borrower may have most of the GPU", func() bool { return m.limitGiB(m.borrower) > 113 })
	cmd, out := m.tenant(m.borrower, 112)
	if !out.Scan() {
		m.t.Fatal("the borrower did not get what its grant allows")
	}
	go drain(out)
	return cmd
}

// drain reads what a program prints until it ends.
func drain(out *bufio.Scanner) {
	for out.Scan() {
		continue
	}
}

// steps are the events of the ladder so far.
func (m *market) steps() []string {
	m.news.mu.Lock()
	defer m.news.mu.Unlock()
	var all []string
	for _, e := range m.news.list {
		word := e[strings.LastIndex(e, " ")+1:]
		if strings.HasPrefix(word, "Borrow") {
			all = append(all, word)
		}
	}
	return all
}

func (m *market) wantSteps(want ...loan.Kind) {
	m.t.Helper()
	var words []string
	for _, k := range want {
		words = append(words, string(k))
	}
	if got := m.steps(); !slices.Equal(got, words) {
		m.t.Errorf("the steps were %v, want %v", got, words)
	}
}

func (m *market) launches(slice string) uint64 {
	for _, v := range m.agent.sharing.server.View().Slices {
		if string(v.ID) == slice {
			return v.Work.Launches
		}
	}
	return 0
}

func TestAnOwnerGetsItsMemoryAndTheBorrowerComesBack(t *testing.T) {
	m := newMarket(t, true, "")
	borrower := m.borrow()
	before := time.Now()
	owner, out := m.tenant(m.owner, 68)
	if !out.Scan() {
		t.Fatal("the owner did not get its own memory")
	}
	t.Logf("the owner had its memory, and its first work done, %v after its program was started", time.Since(before).Round(time.Millisecond))
	m.wantSteps(loan.Refused, loan.Trimmed, loan.Demoted, loan.Checkpointed)
	m.eventually("the share says what is done", func() bool {
		for _, s := range m.reports.status().Slices {
			if s.ID == m.borrower && s.Share != nil && len(s.Share.Findings) > 0 {
				return s.Share.Findings[len(s.Share.Findings)-1].Reason == string(loan.Checkpointed)
			}
		}
		return false
	})
	m.end()
	m.start() // an agent that returns knows whom the last one stopped
	m.must(owner.Process.Signal(syscall.SIGTERM))
	drain(out)
	m.eventually("the borrower is restored", func() bool { return slices.Contains(m.steps(), string(loan.Restored)) })
	done := m.launches(m.borrower)
	m.eventually("the borrower works again", func() bool { return m.launches(m.borrower) > done })
	if err := borrower.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the borrower has ended: %v", err)
	}
}

func TestWithoutCheckpointsABorrowerIsEndedAfterItsGrace(t *testing.T) {
	m := newMarket(t, false, "memoryGraceSeconds: 2")
	borrower := m.borrow()
	before := time.Now()
	if _, out := m.tenant(m.owner, 68); !out.Scan() {
		t.Fatal("the owner did not get its own memory")
	}
	if took := time.Since(before); took < 2*time.Second {
		t.Errorf("the borrower was ended %v after the owner came, before its grace of 2 s", took)
	}
	m.eventually("the shortage is over", func() bool { return slices.Contains(m.steps(), string(loan.Released)) })
	m.wantSteps(loan.Refused, loan.Trimmed, loan.Demoted, loan.Ended, loan.Released)
	if err := borrower.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the borrower ended with %v, want killed", err)
	}
	m.eventually("the borrower's limit is what the owner leaves at most", func() bool { return m.limitGiB(m.borrower) <= 71 })
}
