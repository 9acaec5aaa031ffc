// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"aipub.io/aipub/test/cluster/internal/proc"
	"golang.org/x/sys/unix"
)

// Pods is the cgroup below which the kubelet puts every pod.
const Pods = "kubepods"

// KillGroup kills every process in the cgroup of this name and below, in all
// hierarchies, until none is left.
func KillGroup(name string) error {
	roots, err := groupRoots(name)
	if err != nil {
		return err
	}
	const patience = 20 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		pids := members(roots)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("kill processes of cgroup %s: %v still there after %s", name, pids, patience)
		}
		for _, pid := range pids {
			if err := kill(pid); err != nil {
				return err
			}
		}
	}
}

// GroupExists reports whether any hierarchy has the cgroup of this name.
func GroupExists(name string) (bool, error) {
	roots, err := groupRoots(name)
	return len(roots) > 0, err
}

// RemoveGroup removes the empty cgroup of this name and those below it.
func RemoveGroup(name string) error {
	roots, err := groupRoots(name)
	if err != nil {
		return err
	}
	var errs []error
	for _, root := range roots {
		groups := folders(root)
		slices.Reverse(groups) // children before their parents
		for _, group := range groups {
			if err := unix.Rmdir(group); err != nil && !errors.Is(err, unix.ENOENT) {
				errs = append(errs, fmt.Errorf("remove cgroup %s: %w", group, err))
			}
		}
	}
	return errors.Join(errs...)
}

// groupRoots finds the cgroup's folder in each mounted hierarchy that has it.
func groupRoots(name string) ([]string, error) {
	mounts, err := mounts()
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, m := range mounts {
		root := filepath.Join(m.point, name)
		if _, err := os.Stat(root); err == nil && strings.HasPrefix(m.kind, "cgroup") {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

// members lists the live processes of the cgroups and of those below them.
func members(roots []string) []int {
	pids := map[int]bool{}
	for _, root := range roots {
		for _, group := range folders(root) {
			raw, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
			if err != nil {
				continue // the group went away
			}
			for _, field := range strings.Fields(string(raw)) {
				pid, err := strconv.Atoi(field)
				if _, gone := proc.Of(pid); err == nil && gone == nil {
					pids[pid] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(pids))
}

// kill ends a process that was just seen in one of our cgroups.
func kill(pid int) error {
	id, err := proc.Of(pid)
	if err != nil {
		return unlessGone(err)
	}
	return unlessGone(id.Signal(unix.SIGKILL))
}

func unlessGone(err error) error {
	if errors.Is(err, proc.ErrGone) {
		return nil
	}
	return err
}

// folders lists root and the folders below it, parents first.
func folders(root string) []string {
	var all []string
	filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, path)
		}
		return nil // a group may go away while we look
	})
	return all
}
