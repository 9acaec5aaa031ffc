// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/proc"
)

// procFS reads processes from the host's /proc, or from a tree like it.
type procFS struct{ proc.FS }

// self is what /proc says a process is in its own PID namespace: what its
// library writes into its slot.
func (fs procFS) self(pid int) (identity, error) {
	status, err := fs.Read(pid, "status")
	if err != nil {
		return identity{}, err
	}
	owner, err := innermostPID(status)
	if err != nil {
		return identity{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	start, err := fs.StartTime(pid)
	if err != nil {
		return identity{}, err
	}
	return identity{owner, start}, nil
}

// innermostPID is the last number of NSpid in /proc/PID/status: the PID in the
// process's own namespace. proc(5).
func innermostPID(status []byte) (uint64, error) {
	_, rest, found := bytes.Cut(status, []byte("\nNSpid:"))
	if !found {
		return 0, errors.New("parse status: no NSpid")
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) == 0 {
		return 0, errors.New("parse status: NSpid is empty")
	}
	return strconv.ParseUint(string(fields[len(fields)-1]), 10, 64)
}

// mapped reports whether a process has the file mapped.
func (fs procFS) mapped(pid int, file fileID) (bool, error) {
	maps, err := fs.Read(pid, "maps")
	if err != nil {
		return false, err
	}
	for line := range bytes.Lines(maps) {
		// address perms offset dev inode path
		f := bytes.Fields(line)
		if len(f) >= 5 && string(f[3]) == file.dev && string(f[4]) == file.inode {
			return true, nil
		}
	}
	return false, nil
}

// fileID names a file as /proc/PID/maps does.
type fileID struct{ dev, inode string }

func identify(f *os.File) (fileID, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fileID{}, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return fileID{
		dev:   fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)),
		inode: strconv.FormatUint(st.Ino, 10),
	}, nil
}

// peer is the process at the other end of a connection, pinned by a pidfd: as
// long as the pidfd does not say that it is dead, pid is that process.
type peer struct {
	pid, pidfd int
}

// peerOf asks the kernel who connected.
func peerOf(conn int) (peer, error) {
	cred, err := unix.GetsockoptUcred(conn, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return peer{}, fmt.Errorf("get peer: %w", err)
	}
	if cred.Pid <= 0 {
		return peer{}, fmt.Errorf("get peer: %w: it is in no PID namespace that the agent sees; the agent needs the host's", errImpostor)
	}
	pid := int(cred.Pid)
	if fd, err := unix.GetsockoptInt(conn, unix.SOL_SOCKET, unix.SO_PEERPIDFD); err == nil {
		unix.CloseOnExec(fd)
		return peer{pid, fd}, nil
	}
	// Before Linux 6.5. If the PID was used again in the meantime, the start time
	// in the Hello tells.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return peer{}, fmt.Errorf("open pidfd of %d: %w", pid, err)
	}
	return peer{pid, fd}, nil
}

func (p peer) close() { _ = unix.Close(p.pidfd) }

// dead reports whether the process has ended.
func (p peer) dead() bool {
	fds := []unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}
