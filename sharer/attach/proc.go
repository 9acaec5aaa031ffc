// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Proc reads processes from a /proc, and remembers which belong to containers. It
// is not safe for concurrent use.
type Proc struct {
	root  string
	known map[int]knownProcess
	scan  int
}

// knownProcess is what was found out about a PID, at some scan.
type knownProcess struct {
	id        ProcessID
	container Container
	scans     int // how often it was looked at
	seen      int // the last scan that listed it
}

// NewProc reads the host's processes from root; "" means /proc.
func NewProc(root string) *Proc {
	if root == "" {
		root = "/proc"
	}
	return &Proc{root: root, known: map[int]knownProcess{}}
}

// Process finds out which process a PID is now, and in which container.
func (p *Proc) Process(pid int) (ProcessID, Container, error) {
	stat, err := p.read(pid, "stat")
	if err != nil {
		return ProcessID{}, Container{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	start, err := startTime(stat)
	if err != nil {
		return ProcessID{}, Container{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	cgroup, err := p.read(pid, "cgroup")
	if err != nil {
		return ProcessID{}, Container{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return ProcessID{pid, start}, containerOf(string(cgroup)), nil
}

// User is a process that has device files of GPUs open as a CUDA program does.
type User struct {
	Process   ProcessID
	Container Container
	// Minors are the N of its open /dev/nvidiaN, ascending.
	Minors []int
}

// Users lists the processes of the containers of interest that have opened both
// /dev/nvidia-uvm and a GPU's device file. CUDA needs the former, while tools
// that only ask for the GPU's state do not open it. It sees processes that
// the driver does not list, for example before they have a context.
//
// A scan costs a listing of /proc, and reads only processes that are new, or of a
// container of interest. A process that is seen outside of any container is
// looked at again a few times, since a runtime moves it, and then at every tenth
// scan, since its PID may be used again.
func (p *Proc) Users(interest func(Container) bool) ([]User, error) {
	pids, err := p.pids()
	if err != nil {
		return nil, err
	}
	p.scan++
	var users []User
	for _, pid := range pids {
		k, ok := p.know(pid)
		if !ok || k.container == (Container{}) || !interest(k.container) {
			continue
		}
		minors, uvm := p.devices(pid)
		if uvm && len(minors) > 0 {
			users = append(users, User{k.id, k.container, minors})
		}
	}
	for pid, k := range p.known {
		if k.seen != p.scan {
			delete(p.known, pid)
		}
	}
	return users, nil
}

// know looks a process up, or looks at it again.
func (p *Proc) know(pid int) (knownProcess, bool) {
	const (
		youngScans = 5
		everyScans = 10
	)
	k, ok := p.known[pid]
	k.seen = p.scan
	if ok && k.scans >= youngScans && (p.scan+pid)%everyScans != 0 {
		p.known[pid] = k
		return k, true
	}
	id, container, err := p.Process(pid)
	if err != nil {
		return knownProcess{}, false // it ended just now
	}
	if id != k.id {
		k.scans = 0
	}
	k.id, k.container, k.scans = id, container, k.scans+1
	p.known[pid] = k
	return k, true
}

// devices lists the NVIDIA device files that a process has open.
func (p *Proc) devices(pid int) (minors []int, uvm bool) {
	dir := filepath.Join(p.root, strconv.Itoa(pid), "fd")
	fds, err := names(dir)
	if err != nil {
		return nil, false
	}
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, fd))
		if err != nil {
			continue
		}
		name, ok := strings.CutPrefix(target, "/dev/nvidia")
		if !ok {
			continue
		}
		if name == "-uvm" {
			uvm = true
		} else if minor, err := strconv.Atoi(name); err == nil && !slices.Contains(minors, minor) {
			minors = append(minors, minor)
		}
	}
	slices.Sort(minors)
	return minors, uvm
}

func (p *Proc) pids() ([]int, error) {
	entries, err := names(p.root)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, name := range entries {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

func names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	found, err := f.Readdirnames(-1)
	return found, errors.Join(err, f.Close())
}

func (p *Proc) read(pid int, file string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.root, strconv.Itoa(pid), file))
}

// startTime is field 22 of /proc/PID/stat. Field 2, the command's name, stands in
// parentheses and may have any characters. proc(5).
func startTime(stat []byte) (uint64, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	const index = 22 - 3 // the first field after the name is number 3
	if end < 0 || len(fields) <= index {
		return 0, errors.New("parse stat: too short")
	}
	return strconv.ParseUint(string(fields[index]), 10, 64)
}
