// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/proc"
)

// mostTerminals is how many terminals of one container are looked at; one with
// more is not seen.
const mostTerminals = 1024

// readTerminals reads when each terminal in a process' /dev/pts had output and
// input. The root that it looks into is the container's, which may hold anything:
// no link is followed, only the kernel's own devpts is believed, and nothing in
// it is opened. It may still not return, when dev is a file system whose server
// does not answer.
func readTerminals(fs proc.FS, pid int) (Terminals, error) {
	root := filepath.Join(string(fs), strconv.Itoa(pid), "root") // a link of the kernel's
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open root of process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(top) }()
	const here = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dev, err := unix.Openat(top, "dev", unix.O_PATH|here, 0)
	if err != nil {
		return nil, fmt.Errorf("open dev of process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(dev) }()
	pts, err := unix.Openat(dev, "pts", unix.O_RDONLY|here, 0)
	if err != nil {
		return nil, fmt.Errorf("open dev/pts of process %d: %w", pid, err)
	}
	dir := os.NewFile(uintptr(pts), "dev/pts")
	defer func() { _ = dir.Close() }()
	var kind unix.Statfs_t
	if err := unix.Fstatfs(pts, &kind); err != nil {
		return nil, fmt.Errorf("look at dev/pts of process %d: %w", pid, err)
	}
	if kind.Type != unix.DEVPTS_SUPER_MAGIC {
		return nil, fmt.Errorf("look at dev/pts of process %d: it is not the kernel's", pid)
	}
	return stamps(dir)
}

func stamps(dir *os.File) (Terminals, error) {
	names, err := dir.Readdirnames(mostTerminals + 2) // ptmx is no terminal
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list terminals: %w", err)
	}
	all := Terminals{}
	for _, name := range names {
		if name == "ptmx" {
			continue
		}
		var st unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue // closed just now
		}
		if err != nil {
			return nil, fmt.Errorf("look at terminal %s: %w", name, err)
		}
		all[name] = Stamp{Output: st.Mtim.Nano(), Input: st.Atim.Nano()}
	}
	if len(all) > mostTerminals {
		return nil, fmt.Errorf("list terminals: more than %d", mostTerminals)
	}
	return all, nil
}
