// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	"aipub.io/aipub/sharer/proc"
)

// HostConfig says where a Host looks.
type HostConfig struct {
	// Proc is /proc with the host's process numbers; "" means /proc.
	Proc string
	// Cgroups are places where the host's cgroup hierarchy may be seen; the first
	// that has a container's cgroup counts.
	Cgroups []string
	// Identify says which container a process is in, "" outside of any, and when
	// it began.
	Identify Identify
}

// Identify says which container a process is in and when it began, in clock
// ticks since boot.
type Identify func(pid int) (container string, start uint64, err error)

// Host takes what the kernel shows of containers. It is not safe for concurrent
// use.
type Host struct {
	finder    finder
	cgroups   cgroups
	processes processes
	terminals patient
	proc      proc.FS
}

// Seen is what the kernel shows of one container; nil is not seen.
type Seen struct {
	CPUTime   *Usage
	Terminals Terminals
}

// How long a container's terminals are waited for, and how many containers may
// keep a reader waiting at the same time.
const (
	terminalPatience = 500 * time.Millisecond
	terminalReaders  = 16
)

// NewHost prepares to look; it opens nothing.
func NewHost(c HostConfig) *Host {
	fs := proc.FS(c.Proc)
	if fs == "" {
		fs = proc.Host
	}
	return &Host{
		finder:    finder{pids: fs.PIDs, identify: c.Identify},
		cgroups:   cgroups{roots: c.Cgroups, proc: fs},
		processes: processes{proc: fs, identify: c.Identify},
		terminals: patient{limit: terminalPatience, most: terminalReaders},
		proc:      fs,
	}
}

// Look looks at the containers with the given IDs; one of which no process is
// seen is absent. It takes at most half a second for each container that does
// not let itself be looked at, and a moment for all others together.
func (h *Host) Look(containers []string) map[string]Seen {
	all := map[string]Seen{}
	var summed map[string]time.Duration // of all processes, where a cgroup is out of sight
	for id, pid := range h.finder.find(containers) {
		var s Seen
		if total, err := h.cgroups.cpuTime(pid, id); err == nil {
			s.CPUTime = &Usage{Of: id, Total: total}
		} else {
			if summed == nil {
				summed = h.processes.cpuTimes()
			}
			if total, ok := summed[id]; ok {
				s.CPUTime = &Usage{Of: "the processes of " + id, Total: total}
			}
		}
		s.Terminals = h.terminals.read(id, func() (Terminals, error) { return readTerminals(h.proc, pid) })
		all[id] = s
	}
	return all
}
