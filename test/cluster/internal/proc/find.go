// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Find lists the processes whose executable has the file name exe (also if it was
// replaced since) and that have arg among their arguments.
func Find(exe, arg string) ([]Identity, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		id, err := Of(pid)
		if err != nil || !runs(pid, exe, arg) {
			continue // gone meanwhile, or not one of them
		}
		found = append(found, id)
	}
	return found, nil
}

func runs(pid int, exe, arg string) bool {
	target, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil || filepath.Base(strings.TrimSuffix(target, " (deleted)")) != exe {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && slices.Contains(strings.Split(string(line), "\x00"), arg)
}
