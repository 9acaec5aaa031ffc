// SPDX-License-Identifier: Apache-2.0

package proc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"aipub.io/aipub/sharer/proc"
)

func TestStartTime(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21\n"
	for stat, want := range map[string]uint64{
		"1 (sh)" + tail:            4242,
		"1 (a) S 1 2 (b c)" + tail: 4242,
		"1 (a\nb)" + tail:          4242,
		"1 (sh) S 1 2":             0,
		"":                         0,
		"no parenthesis":           0,
		"1 (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 soon 20": 0,
	} {
		root := t.TempDir()
		write(t, filepath.Join(root, "7", "stat"), stat)
		if got, err := proc.FS(root).StartTime(7); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v; want %d", stat, got, err, want)
		}
	}
	if _, err := proc.FS(t.TempDir()).StartTime(7); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a process that does not exist: %v", err)
	}
}

// The kernel's own: this process is listed, its child began no earlier, and is no
// longer there once it was waited for.
func TestHost(t *testing.T) {
	mine, err := proc.Host.StartTime(os.Getpid())
	if err != nil || mine == 0 {
		t.Fatalf("this process began at %d, %v", mine, err)
	}
	child := exec.CommandContext(t.Context(), "cat")
	hold, err := child.StdinPipe() // it ends when this is closed
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	began, err := proc.Host.StartTime(pid)
	if err != nil || began < mine {
		t.Errorf("the child began at %d, %v; this process at %d", began, err, mine)
	}
	pids, err := proc.Host.PIDs()
	if err != nil || !slices.Contains(pids, os.Getpid()) || !slices.Contains(pids, pid) || !slices.IsSorted(pids) {
		t.Errorf("processes are %v, %v; want %d and %d in order", pids, err, os.Getpid(), pid)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if now, err := proc.Host.StartTime(pid); err == nil && now == began {
		t.Errorf("process %d is still there", pid)
	}
}

func TestOpenFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "open")
	write(t, name, "")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := proc.Host.OpenFiles(os.Getpid()); err != nil || !slices.Contains(files, name) {
		t.Errorf("open are %q, %v; want %s among them", files, err, name)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := proc.Host.OpenFiles(os.Getpid()); err != nil || slices.Contains(files, name) {
		t.Errorf("open are %q, %v; %s is closed", files, err, name)
	}
	if _, err := proc.FS(t.TempDir()).OpenFiles(7); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a process that does not exist: %v", err)
	}
}

func TestPIDsAreTheNumbers(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"10", "9", "self", "1x", "sys"} {
		write(t, filepath.Join(root, dir, "stat"), "")
	}
	write(t, filepath.Join(root, "uptime"), "1")
	if pids, err := proc.FS(root).PIDs(); err != nil || !slices.Equal(pids, []int{9, 10}) {
		t.Errorf("processes are %v, %v; want 9 and 10", pids, err)
	}
	if _, err := proc.FS(filepath.Join(root, "none")).PIDs(); err == nil {
		t.Error("listed a directory that is not there")
	}
	if text, err := proc.FS(root).Read(10, "stat"); err != nil || len(text) != 0 {
		t.Errorf("read %q, %v", text, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
