// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"aipub.io/aipub/sharer/proc"
)

// tick is the unit of /proc/PID/stat: USER_HZ, which is 100 on every architecture that
// Linux' ABI for user space knows today (times(2)).
const tick = time.Second / 100

// processes adds up what the processes of containers used of the CPU, for where their
// cgroups are out of sight: on hosts with cgroups of version 1, a container sees its own.
// What a process used stays with the parent that waited for it. What nobody waited for is
// lost, so this sees less than a cgroup does, and never more.
type processes struct {
	proc     proc.FS
	identify Identify
}

// cpuTimes are the totals of all containers that have a process.
func (p processes) cpuTimes() map[string]time.Duration {
	pids, err := p.proc.PIDs()
	if err != nil {
		return nil
	}
	totals := map[string]time.Duration{}
	for _, pid := range pids {
		id, _, err := p.identify(pid)
		if err != nil || id == "" {
			continue // it ended just now, or is in none
		}
		stat, err := p.proc.Read(pid, "stat")
		if err != nil {
			continue
		}
		if used, err := cpuTicks(stat); err == nil {
			totals[id] += time.Duration(used) * tick
		}
	}
	return totals
}

// cpuTicks are utime, stime, cutime and cstime of a /proc/PID/stat: fields 14 to 17. The
// second field is the command in parentheses, which may hold anything. proc(5).
func cpuTicks(stat []byte) (int64, error) {
	_, after, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(after)
	if !found || len(fields) < 15 {
		return 0, fmt.Errorf("parse stat: %d fields after the command", len(fields))
	}
	sum := int64(0)
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse stat: %w", err)
		}
		sum += n
	}
	return sum, nil
}
