// SPDX-License-Identifier: Apache-2.0

// Package proc starts, finds and stops processes without ever taking another one for ours.
package proc

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrGone says that the process has ended (or its pid now belongs to another).
var ErrGone = errors.New("process is gone")

// Identity names one process for good: a pid comes back into use, a pid with
// its start time (in clock ticks since boot) does not.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// Of returns the identity of a running process. It returns ErrGone when there
// is none with this pid, or only one that has ended and was not waited for.
func Of(pid int) (Identity, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return Identity{}, ErrGone
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	state, start, err := parseStat(string(raw))
	if err != nil {
		return Identity{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return Identity{}, ErrGone
	}
	return Identity{PID: pid, Start: start}, nil
}

// parseStat reads the state and start time from a line of /proc/PID/stat (see proc(5)).
// The command in field 2 may hold spaces and parentheses, so fields count from its last one.
func parseStat(line string) (state byte, start uint64, err error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return 0, 0, fmt.Errorf("parse stat %q: no command", line)
	}
	fields := strings.Fields(line[end+1:])
	const stateField, startField = 3 - 3, 22 - 3
	if len(fields) <= startField || len(fields[stateField]) != 1 {
		return 0, 0, fmt.Errorf("parse stat %q: too few fields", line)
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("parse stat %q: %w", line, err)
	}
	return fields[stateField][0], start, nil
}

// Alive reports whether this very process still runs.
func (id Identity) Alive() bool {
	now, err := Of(id.PID)
	return err == nil && now == id
}

// Signal sends sig to this very process, or returns ErrGone. It holds the
// process by a file descriptor from before the check of its identity until
// after the signal, so a pid that changes hands in between is not hit.
func (id Identity) Signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", id.PID, err)
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}
