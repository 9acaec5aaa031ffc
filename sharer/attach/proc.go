// SPDX-License-Identifier: Apache-2.0

package attach

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aipub.io/aipub/sharer/proc"
)

// Proc reads processes from a /proc, and remembers which belong to containers. It
// is not safe for concurrent use.
type Proc struct {
	fs    proc.FS
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
	fs := proc.FS(root)
	if fs == "" {
		fs = proc.Host
	}
	return &Proc{fs: fs, known: map[int]knownProcess{}}
}

// Process finds out which process a PID is now, and in which container.
func (p *Proc) Process(pid int) (ProcessID, Container, error) {
	start, err := p.fs.StartTime(pid)
	if err != nil {
		return ProcessID{}, Container{}, err
	}
	cgroup, err := p.fs.Read(pid, "cgroup")
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
	pids, err := p.fs.PIDs()
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
	files, err := p.fs.OpenFiles(pid)
	if err != nil {
		return nil, false
	}
	for _, file := range files {
		name, ok := strings.CutPrefix(file, "/dev/nvidia")
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
