// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipub.io/aipub/sharer/proc"
)

// cgroups reads what containers used of the CPU.
type cgroups struct {
	roots []string
	proc  proc.FS
}

// cpuTime is the CPU time of all processes of a container that ever were, those
// in cgroups below its own too; pid is one of them now.
func (c cgroups) cpuTime(pid int, container string) (time.Duration, error) {
	text, err := c.proc.Read(pid, "cgroup")
	if err != nil {
		return 0, fmt.Errorf("read cgroup of process %d: %w", pid, err)
	}
	file, parse, err := accountOf(string(text), container)
	if err != nil {
		return 0, err
	}
	for _, root := range c.roots {
		account, err := os.ReadFile(filepath.Join(root, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		return parse(string(account))
	}
	return 0, fmt.Errorf("read CPU time: no %s under %s", file, strings.Join(c.roots, ", "))
}

// accountOf finds the file with a container's CPU time, below the root of the
// hierarchies, in the text of /proc/PID/cgroup: cpuacct.usage where the
// controller is one of version 1, cpu.stat otherwise. cgroups(7).
func accountOf(text, container string) (file string, parse func(string) (time.Duration, error), err error) {
	var own string // of version 2
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 {
			continue
		}
		path := upTo(fields[2], container)
		switch {
		case path == "":
		case slices.Contains(strings.Split(fields[1], ","), "cpuacct"):
			return filepath.Join("cpuacct", path, "cpuacct.usage"), nanoseconds, nil
		case fields[1] == "":
			own = path
		}
	}
	if own == "" {
		return "", nil, fmt.Errorf("find cgroup of container %s: its CPU time is in none that this process sees", container)
	}
	return filepath.Join(own, "cpu.stat"), usageLine, nil
}

// upTo cuts a cgroup's path after the part with the container's ID; "" for one
// without it, or outside of the agent's cgroup namespace.
func upTo(path, container string) string {
	if container == "" || strings.Contains(path, "/..") {
		return ""
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.Contains(part, container) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

func nanoseconds(text string) (time.Duration, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse cpuacct.usage: %w", err)
	}
	return time.Duration(n), nil
}

func usageLine(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "usage_usec ")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse cpu.stat: %w", err)
		}
		return time.Duration(n) * time.Microsecond, nil
	}
	return 0, errors.New("parse cpu.stat: no usage_usec")
}
