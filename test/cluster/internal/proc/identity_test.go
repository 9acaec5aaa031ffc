// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const rest = " 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200"
	for name, test := range map[string]struct {
		line  string
		state byte
		start uint64
		ok    bool
	}{
		"plain":                      {"42 (sleep) S" + rest, 'S', 98765, true},
		"spaces and brackets inside": {"42 (a) R 1 (b) Z" + rest, 'Z', 98765, true},
		"no command":                 {"42 sleep S" + rest, 0, 0, false},
		"cut short":                  {"42 (sleep) S 1 2", 0, 0, false},
		"empty":                      {"", 0, 0, false},
	} {
		state, start, err := parseStat(test.line)
		if (err == nil) != test.ok || state != test.state || start != test.start {
			t.Errorf("%s: got %q, %d, %v", name, state, start, err)
		}
	}
}

func TestOfKnowsItself(t *testing.T) {
	id, err := Of(os.Getpid())
	if err != nil || !id.Alive() {
		t.Fatalf("own process: %v, %v", id, err)
	}
}

func TestReusedPidIsNotOurs(t *testing.T) {
	id := sleeper(t)
	other := Identity{PID: id.PID, Start: id.Start - 1} // who had the pid before
	if other.Alive() {
		t.Error("a pid with another start time counts as the same process")
	}
	if err := other.Signal(unix.SIGKILL); !errors.Is(err, ErrGone) {
		t.Errorf("signal to the former holder of a pid: %v, want ErrGone", err)
	}
	if !id.Alive() {
		t.Error("the present holder of the pid was hit")
	}
}

func TestZombieIsGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := Of(cmd.Process.Pid); errors.Is(err, ErrGone) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("an ended process that was not waited for counts as running")
		}
	}
}

func TestStopUsesForceAfterGrace(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { go cmd.Wait() }()
	out.Read(make([]byte, 6)) // the trap is set
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := Stop(id, 100*time.Millisecond); err != nil || id.Alive() {
		t.Errorf("stop: %v, alive: %v", err, id.Alive())
	}
	if err := Stop(id, time.Second); err != nil {
		t.Errorf("stop of a stopped process: %v", err)
	}
}

func sleeper(t *testing.T) Identity {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	id, err := Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
