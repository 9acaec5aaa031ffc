// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/proc"
)

var (
	one = strings.Repeat("1", 64)
	two = strings.Repeat("2", 64)
)

// write makes a file with its folders.
func write(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCPUTimeOfAContainer(t *testing.T) {
	pod := "/kubepods.slice/kubepods-podu1.slice/cri-containerd-" + one + ".scope"
	cases := map[string]struct {
		cgroup, file, text string
		want               time.Duration
		wantErr            string
	}{
		"version 2":                  {"0::" + pod + "\n", pod + "/cpu.stat", "usage_usec 2500000\nuser_usec 1\n", 2500 * time.Millisecond, ""},
		"below the container's own":  {"0::" + pod + "/system.slice/sshd\n", pod + "/cpu.stat", "nr_periods 0\nusage_usec 1\n", time.Microsecond, ""},
		"version 1":                  {"4:cpu,cpuacct:" + pod + "\n1:name=systemd:" + pod + "\n0::/\n", "cpuacct" + pod + "/cpuacct.usage", "1500000000\n", 1500 * time.Millisecond, ""},
		"both, CPU by version 1":     {"0::" + pod + "\n3:cpuacct:" + pod + "\n", "cpuacct" + pod + "/cpuacct.usage", "7\n", 7, ""},
		"outside of the namespace":   {"0::/../.." + pod + "\n", pod + "/cpu.stat", "usage_usec 1\n", 0, "none that this process sees"},
		"another container's cgroup": {"0::/kubepods/podu1/" + two + "\n", "kubepods/podu1/" + two + "/cpu.stat", "usage_usec 1\n", 0, "none that this process sees"},
		"no such file":               {"0::" + pod + "\n", "elsewhere", "", 0, "cpu.stat under"},
		"no number":                  {"0::" + pod + "\n", pod + "/cpu.stat", "usage_usec x\n", 0, "parse cpu.stat"},
		"nothing of the kind":        {"0::" + pod + "\n", pod + "/cpu.stat", "user_usec 3\n", 0, "no usage_usec"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, tc.cgroup, root, "proc/7/cgroup")
			write(t, tc.text, root, "host", tc.file)
			c := cgroups{roots: []string{filepath.Join(root, "none"), filepath.Join(root, "host")}, proc: proc.FS(filepath.Join(root, "proc"))}
			got, err := c.cpuTime(7, one)
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) || tc.wantErr == "" && err != nil {
				t.Fatalf("error %v, want %q", err, tc.wantErr)
			}
			if got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// machine is what finder sees: containers of processes that can come and go.
type machine struct {
	containers map[int]string
	starts     map[int]uint64
	scans      int
}

func (m *machine) finder() finder {
	return finder{
		pids: func() ([]int, error) {
			m.scans++
			var all []int
			for pid := range m.containers {
				all = append(all, pid)
			}
			return all, nil
		},
		identify: func(pid int) (string, uint64, error) {
			id, ok := m.containers[pid]
			if !ok {
				return "", 0, os.ErrNotExist
			}
			return id, m.starts[pid], nil
		},
	}
}

func TestAProcessOfEachContainerIsFound(t *testing.T) {
	m := machine{
		containers: map[int]string{1: "", 10: one, 11: one, 12: two, 13: ""},
		starts:     map[int]uint64{1: 1, 10: 9, 11: 5, 12: 7, 13: 2},
	}
	f := m.finder()
	expect := func(want map[int]string, scans int) {
		t.Helper()
		got := map[int]string{}
		for id, pid := range f.find([]string{one, two}) {
			got[pid] = id
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("processes (-want +got):\n%s", diff)
		}
		if m.scans != scans {
			t.Errorf("all processes were looked at %d times, want %d", m.scans, scans)
		}
	}
	expect(map[int]string{11: one, 12: two}, 1) // the oldest
	expect(map[int]string{11: one, 12: two}, 1)
	m.starts[11] = 20 // the number is used again, by a younger one
	expect(map[int]string{10: one, 12: two}, 2)
	m.containers[10] = two // the same number in another container
	m.starts[10] = 21
	expect(map[int]string{11: one, 12: two}, 3)
	delete(m.containers, 12)
	delete(m.containers, 10)
	expect(map[int]string{11: one}, 4)
}

// terminal opens a new pseudo terminal and returns its number and its output end.
func terminal(t *testing.T) (name string, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	name = strconv.Itoa(n)
	tty, err = os.OpenFile("/dev/pts/"+name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("the terminal is not in /dev/pts: %v", err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return name, tty
}

func TestATerminalsOutputIsSeen(t *testing.T) {
	name, tty := terminal(t)
	long := time.Now().Add(-time.Hour) // the kernel notes a time every eight seconds only
	if err := os.Chtimes(tty.Name(), long, long); err != nil {
		t.Fatal(err)
	}
	read := func() Terminals {
		t.Helper()
		all, err := readTerminals(proc.Host, os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := all[name]; !ok {
			t.Fatalf("terminal %s is not among %v", name, all)
		}
		return Terminals{name: all[name]} // others are other people's
	}
	silent := read()
	if again := read(); again.moved(silent) {
		t.Error("a look at a terminal is taken for activity")
	}
	if _, err := fmt.Fprintln(tty, "epoch 7"); err != nil {
		t.Fatal(err)
	}
	if now := read(); !now.moved(silent) {
		t.Errorf("output is not seen: %v, before %v", now, silent)
	}
}

func TestAHostileRootIsNotBelieved(t *testing.T) {
	cases := map[string]func(t *testing.T, root string) error{
		"dev/pts is a link to the host's": func(_ *testing.T, root string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, "dev"), 0o755), os.Symlink("/dev/pts", filepath.Join(root, "dev/pts")))
		},
		"dev is a link to the host's": func(_ *testing.T, root string) error { return os.Symlink("/dev", filepath.Join(root, "dev")) },
		"dev/pts is a folder of its own": func(t *testing.T, root string) error {
			write(t, "", root, "dev/pts/0")
			return nil
		},
		"dev/pts is a pipe": func(_ *testing.T, root string) error {
			return errors.Join(os.Mkdir(filepath.Join(root, "dev"), 0o755), unix.Mkfifo(filepath.Join(root, "dev/pts"), 0o644))
		},
		"dev is a file": func(t *testing.T, root string) error {
			write(t, "", root, "dev")
			return nil
		},
		"there is no dev": func(*testing.T, string) error { return nil },
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			fs := t.TempDir()
			root := filepath.Join(fs, "7", "root")
			if err := errors.Join(os.MkdirAll(root, 0o755), make(t, root)); err != nil {
				t.Fatal(err)
			}
			if got, err := readTerminals(proc.FS(fs), 7); err == nil {
				t.Errorf("believed: %v", got)
			}
		})
	}
}

func TestAContainerThatHangsCostsOnlyItself(t *testing.T) {
	p := patient{limit: 400 * time.Millisecond, most: 3}
	release := make(chan struct{})
	hang := func() (Terminals, error) { <-release; return Terminals{}, nil }
	fine := func() (Terminals, error) { return Terminals{"0": {}}, nil }
	if got := p.read("a", hang); got != nil {
		t.Errorf("from a call that hangs: %v", got)
	}
	if got := p.read("a", fine); got != nil {
		t.Error("a second call was made for a container whose first one hangs")
	}
	if got := p.read("b", fine); len(got) != 1 {
		t.Errorf("another container was not seen: %v", got)
	}
	if got := p.read("b", fine); len(got) != 1 {
		t.Errorf("nor was it the second time: %v", got)
	}
	p.read("c", hang)
	p.read("d", hang)
	if got := p.read("e", fine); got != nil {
		t.Error("a fourth call was made though three hang")
	}
	if got := p.read("b", func() (Terminals, error) { return Terminals{}, errors.New("no") }); got != nil {
		t.Errorf("of a failure: %v", got)
	}
	close(release)
	for end := time.Now().Add(10 * time.Second); p.read("a", fine) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a container that answers again stays unseen")
		}
	}
}

func TestAHostLooksAtWhatRuns(t *testing.T) {
	root := t.TempDir()
	write(t, "0::/kubepods/podu/"+one+"\n", root, "proc/7/cgroup")
	write(t, "usage_usec 3000000\n", root, "cg/kubepods/podu", one, "cpu.stat")
	h := NewHost(HostConfig{
		Proc: filepath.Join(root, "proc"), Cgroups: []string{filepath.Join(root, "cg")},
		Identify: func(int) (string, uint64, error) { return one, 5, nil },
	})
	got := h.Look([]string{one, two})
	want := map[string]Seen{one: {CPUTime: &Usage{Of: one, Total: 3 * time.Second}}} // no dev/pts: not seen
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
}

func TestCPUTimeOfProcessesWhereTheCgroupIsOutOfSight(t *testing.T) {
	root := t.TempDir()
	stat := func(pid, command string, ticks ...int) {
		text := fmt.Sprintf("%s (%s) S 1 1 1 0 -1 0 0 0 0 0 %d %d %d %d 20 0 1 0 500 0\n", pid, command, ticks[0], ticks[1], ticks[2], ticks[3])
		write(t, text, root, pid, "stat")
		write(t, "0::/\n", root, pid, "cgroup")
	}
	stat("7", "sh", 10, 20, 30, 40)
	stat("8", "a ) b", 100, 0, 0, 0)
	stat("9", "other", 5, 0, 0, 0)
	of := map[int]string{7: one, 8: one, 9: two}
	h := NewHost(HostConfig{Proc: root, Cgroups: []string{filepath.Join(root, "none")}, Identify: func(pid int) (string, uint64, error) { return of[pid], 500, nil }})
	seen := h.Look([]string{one, two})
	for id, want := range map[string]time.Duration{one: 2 * time.Second, two: 50 * time.Millisecond} {
		if got := seen[id].CPUTime; got == nil || got.Total != want {
			t.Errorf("container %.4s used %+v, want %s", id, got, want)
		}
	}
	if _, err := cpuTicks([]byte("7 (sh) S 1 1")); err == nil {
		t.Error("half a stat is read")
	}
}
