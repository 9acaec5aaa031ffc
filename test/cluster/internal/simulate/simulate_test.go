// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every machine within the limits of a test looks, read the way cAdvisor reads
// it, as it was asked for.
func TestFilesDescribeTheMachine(t *testing.T) {
	for _, numa := range []int{1, 2, 4, 8} {
		for _, cpus := range []int{8, 32, 128} {
			m := Machine{CPUs: cpus, MemoryBytes: 256 << 30, NUMANodes: numa}
			t.Run(m.String(), func(t *testing.T) { checkMachine(t, m) })
		}
	}
}

func checkMachine(t *testing.T, m Machine) {
	dir := t.TempDir()
	for range 2 { // a second write changes nothing
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	nodes := glob(t, dir, "node/node*[0-9]")
	if len(nodes) != m.NUMANodes {
		t.Errorf("%d NUMA nodes, want %d", len(nodes), m.NUMANodes)
	}
	cores := map[string]bool{}
	for _, node := range nodes {
		cpus := glob(t, node, "cpu*[0-9]")
		if len(cpus) != m.CPUs/m.NUMANodes {
			t.Errorf("%s has %d CPUs", node, len(cpus))
		}
		for _, cpu := range cpus {
			cores[read(t, cpu, "topology/core_id")] = true
			if socket := read(t, cpu, "topology/physical_package_id"); !strings.HasSuffix(node, "node"+socket) {
				t.Errorf("%s is on socket %s", cpu, socket)
			}
		}
		if row := strings.Fields(read(t, node, "distance")); len(row) != m.NUMANodes {
			t.Errorf("%s has distances %v", node, row)
		}
	}
	if len(cores) != m.CPUs {
		t.Errorf("%d cores, want %d", len(cores), m.CPUs)
	}
	if got := strings.Count(read(t, dir, "cpuinfo"), "processor\t"); got != m.CPUs {
		t.Errorf("cpuinfo has %d CPUs, want %d", got, m.CPUs)
	}
	if want := fmt.Sprintf("MemTotal: %d kB", m.MemoryBytes/1024); !strings.Contains(read(t, dir, "meminfo"), want) {
		t.Errorf("meminfo lacks %q", want)
	}
}

func TestMountsHaveTheirFiles(t *testing.T) {
	m := Machine{CPUs: 4, MemoryBytes: 8 << 30, NUMANodes: 2}
	dir := t.TempDir()
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, mount := range m.Mounts() {
		from, err := os.Stat(filepath.Join(dir, mount.From))
		if err != nil {
			t.Error(err)
			continue
		}
		to, err := os.Stat(mount.To)
		if err == nil && from.IsDir() != to.IsDir() {
			t.Errorf("%s cannot be mounted on %s: one is a folder, the other a file", mount.From, mount.To)
		}
	}
}

func TestTheRealMachineNeedsNothing(t *testing.T) {
	var m Machine
	if m.Validate() != nil || m.Simulated() || len(m.Files()) > 0 || len(m.Mounts()) > 0 {
		t.Errorf("%+v simulates something", m)
	}
}

func TestValidateNamesTheField(t *testing.T) {
	good := Machine{CPUs: 32, MemoryBytes: 64 << 30, NUMANodes: 2}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*Machine){
		"cpus: -1":    func(m *Machine) { m.CPUs = -1 },
		"cpus: 33":    func(m *Machine) { m.CPUs = 33 },
		"cpus: 99999": func(m *Machine) { m.CPUs = 99999 },
		"numa: 0":     func(m *Machine) { m.NUMANodes = 0 },
		"numa: 9":     func(m *Machine) { m.NUMANodes = 9 },
		"memory: 5":   func(m *Machine) { m.MemoryBytes = 5 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(raw))
}
