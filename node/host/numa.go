// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// NUMANode is one NUMA node of the host.
type NUMANode struct {
	// ID as the kernel numbers it.
	ID int
	// CPUs is the number of logical CPUs that are online.
	CPUs int
	// MemoryBytes of the node; 0 for one that has CPUs only.
	MemoryBytes int64
}

// NUMANodes reads the NUMA nodes below sysfs (usually "/sys"), in order of ID.
// A kernel without NUMA gives none. Nodes without CPUs are left out: they are
// memory of devices, not of the host.
func NUMANodes(sysfs string) ([]NUMANode, error) {
	dirs, err := filepath.Glob(filepath.Join(sysfs, "devices/system/node/node[0-9]*"))
	if err != nil {
		return nil, fmt.Errorf("list NUMA nodes: %w", err)
	}
	var nodes []NUMANode
	for _, dir := range dirs {
		n, err := readNode(dir)
		if err != nil {
			return nil, fmt.Errorf("read NUMA node %s: %w", filepath.Base(dir), err)
		}
		if n.CPUs > 0 {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b NUMANode) int { return cmp.Compare(a.ID, b.ID) })
	return nodes, nil
}

func readNode(dir string) (NUMANode, error) {
	var n NUMANode
	var err error
	if n.ID, err = strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node")); err != nil {
		return n, err
	}
	cpus, err := os.ReadFile(filepath.Join(dir, "cpulist"))
	if err != nil {
		return n, err
	}
	if n.CPUs, err = countList(strings.TrimSpace(string(cpus))); err != nil {
		return n, err
	}
	info, err := os.ReadFile(filepath.Join(dir, "meminfo"))
	if errors.Is(err, os.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return n, err
	}
	n.MemoryBytes, err = totalMemory(string(info))
	return n, err
}

// countList counts the members of a kernel list such as "0-3,8,10-11".
func countList(list string) (int, error) {
	if list == "" {
		return 0, nil
	}
	total := 0
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || b < a {
			return 0, fmt.Errorf("CPU list %q is malformed", list)
		}
		total += b - a + 1
	}
	return total, nil
}

// totalMemory finds "Node 0 MemTotal:  263735424 kB".
func totalMemory(info string) (int64, error) {
	for line := range strings.SplitSeq(info, "\n") {
		f := strings.Fields(line)
		if len(f) >= 4 && f[2] == "MemTotal:" {
			kib, err := strconv.ParseInt(f[3], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("MemTotal %q is malformed", f[3])
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("meminfo has no MemTotal")
}
