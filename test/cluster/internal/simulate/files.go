// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aipub.io/aipub/test/cluster/internal/replace"
)

// File is a generated file, or with Target a symbolic link.
type File struct{ Path, Content, Target string }

// Mount puts From, a path below the folder of the files, over the real To.
type Mount struct{ From, To string }

// Mounts lists what to mount over what in the kubelet's mount namespace.
func (m Machine) Mounts() []Mount {
	if !m.Simulated() {
		return nil
	}
	return []Mount{
		{"cpuinfo", "/proc/cpuinfo"},
		{"meminfo", "/proc/meminfo"},
		{"cpu", "/sys/devices/system/cpu"},
		{"node", "/sys/devices/system/node"},
	}
}

// Files lists the generated files, with paths relative to their common folder.
func (m Machine) Files() []File {
	if !m.Simulated() {
		return nil
	}
	files := []File{
		{Path: "cpuinfo", Content: m.cpuinfo()},
		{Path: "meminfo", Content: m.meminfo()},
	}
	all := cpuRange(0, m.CPUs-1)
	for _, name := range []string{"online", "possible", "present"} {
		files = append(files, File{Path: "cpu/" + name, Content: all})
	}
	for node := range m.NUMANodes {
		files = append(files, m.nodeFiles(node)...)
	}
	return append(files, File{Path: "node/online", Content: cpuRange(0, m.NUMANodes-1)})
}

// Write makes the files below dir, which holds nothing else of the same names.
func (m Machine) Write(dir string) error {
	for _, file := range m.Files() {
		path := filepath.Join(dir, file.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make folder of simulated machine: %w", err)
		}
		if err := file.write(path); err != nil {
			return fmt.Errorf("write file of simulated machine: %w", err)
		}
	}
	return nil
}

func (f File) write(path string) error {
	if f.Target == "" {
		return replace.File(path, []byte(f.Content), 0o444)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return os.Symlink(f.Target, path)
}

func (m Machine) nodeFiles(node int) []File {
	first, last := m.cpusOf(node)
	dir := fmt.Sprintf("node/node%d/", node)
	files := []File{
		{Path: dir + "cpulist", Content: cpuRange(first, last)},
		{Path: dir + "distance", Content: m.distances(node)},
		{Path: dir + "meminfo", Content: fmt.Sprintf("Node %d MemTotal: %d kB\n", node, m.MemoryBytes/1024/int64(m.NUMANodes))},
	}
	for cpu := first; cpu <= last; cpu++ {
		topology := fmt.Sprintf("cpu/cpu%d/topology/", cpu)
		files = append(files,
			File{Path: topology + "core_id", Content: fmt.Sprintln(cpu)},
			File{Path: topology + "physical_package_id", Content: fmt.Sprintln(node)},
			File{Path: topology + "thread_siblings_list", Content: fmt.Sprintln(cpu)},
			File{Path: topology + "core_siblings_list", Content: cpuRange(first, last)},
			File{Path: fmt.Sprintf("%scpu%d", dir, cpu), Target: fmt.Sprintf("../../cpu/cpu%d", cpu)},
		)
	}
	return files
}

// distances is a NUMA node's row of the distance table: 10 to itself, 20 to the others.
func (m Machine) distances(node int) string {
	row := make([]string, m.NUMANodes)
	for other := range row {
		row[other] = "20"
	}
	row[node] = "10"
	return strings.Join(row, " ") + "\n"
}

// cpuinfo numbers cores machine-wide: cAdvisor counts the distinct core ids over all sockets.
func (m Machine) cpuinfo() string {
	var b strings.Builder
	for cpu := range m.CPUs {
		fmt.Fprintf(&b, "processor\t: %d\nvendor_id\t: AIPubSimulated\nmodel name\t: simulated CPU\ncpu MHz\t\t: 2000.000\n", cpu)
		fmt.Fprintf(&b, "physical id\t: %d\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n\n",
			cpu/m.cpusPerNode(), m.cpusPerNode(), cpu, m.cpusPerNode())
	}
	return b.String()
}

func (m Machine) meminfo() string {
	total := m.MemoryBytes / 1024
	return fmt.Sprintf("MemTotal: %d kB\nMemFree: %d kB\nMemAvailable: %d kB\nBuffers: 0 kB\nCached: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n", total, total, total)
}

func cpuRange(first, last int) string {
	if first == last {
		return fmt.Sprintln(first)
	}
	return fmt.Sprintf("%d-%d\n", first, last)
}
