// SPDX-License-Identifier: Apache-2.0

// Package proc reads what sharer/socket and sharer/attach both ask the kernel
// about processes: which there are, and which one a PID is now. Every call looks
// afresh; nothing is kept.
package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// FS is a directory like /proc, as the agent sees it.
type FS string

// Host is the proc file system of the agent's PID namespace.
const Host FS = "/proc"

// PIDs lists all processes, ascending. One that it lists may have ended since.
func (fs FS) PIDs() ([]int, error) {
	names, err := list(string(fs))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// StartTime is when a process began, in clock ticks since boot. With its PID it
// names the process for as long as the machine runs, since a PID may be used again.
// The error is [os.ErrNotExist] if no process has the PID.
func (fs FS) StartTime(pid int) (uint64, error) {
	stat, err := fs.Read(pid, "stat")
	if err != nil {
		return 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	start, err := startTime(stat)
	if err != nil {
		return 0, fmt.Errorf("read process %d: %w", pid, err)
	}
	return start, nil
}

// Read gives a file of a process, such as "status".
func (fs FS) Read(pid int, file string) ([]byte, error) {
	return os.ReadFile(fs.path(pid, file))
}

// OpenFiles says what the open descriptors of a process lead to, in no order; a
// file twice that is open twice. It needs the right to trace the process.
func (fs FS) OpenFiles(pid int) ([]string, error) {
	dir := fs.path(pid, "fd")
	descriptors, err := list(dir)
	if err != nil {
		return nil, fmt.Errorf("list open files of process %d: %w", pid, err)
	}
	files := make([]string, 0, len(descriptors))
	for _, d := range descriptors {
		// One that was closed in the meantime is no longer open.
		if target, err := os.Readlink(filepath.Join(dir, d)); err == nil {
			files = append(files, target)
		}
	}
	return files, nil
}

func (fs FS) path(pid int, file string) string {
	return filepath.Join(string(fs), strconv.Itoa(pid), file)
}

func list(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(-1)
	return names, errors.Join(err, f.Close())
}

// startTime is field 22 of /proc/PID/stat. Field 2, the command's name, stands
// in parentheses and may have any characters, parentheses too. proc(5).
func startTime(stat []byte) (uint64, error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	const index = 22 - 3 // the first field after the name is number 3
	if end < 0 || len(fields) <= index {
		return 0, errors.New("parse stat: too short")
	}
	start, err := strconv.ParseUint(string(fields[index]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse stat: start time: %w", err)
	}
	return start, nil
}
