// SPDX-License-Identifier: Apache-2.0

// Package simulate writes the files by which a kubelet takes a small machine for a larger one.
//
// The kubelet learns the machine's size from /proc/cpuinfo, /proc/meminfo and
// /sys/devices/system/{cpu,node}. Generated ones are mounted over them in the
// kubelet's own mount namespace. Nothing else sees them, and nothing is
// enforced: containers run on the CPUs and memory that there really are.
package simulate

import "fmt"

// Machine is the size of the simulated machine.
type Machine struct {
	CPUs        int   `json:"cpus"`        // one thread each; 0 shows the real machine
	MemoryBytes int64 `json:"memoryBytes"` // whole KiB
	NUMANodes   int   `json:"numaNodes"`   // one socket each
}

// The kubelet's topology manager takes 8 NUMA nodes at most.
const maxNUMANodes = 8

// Validate says which field is out of range, and what is allowed.
func (m Machine) Validate() error {
	switch {
	case m.CPUs == 0:
		return nil
	case m.CPUs < 0 || m.CPUs > 1024:
		return fmt.Errorf("cpus: %d is out of range, allowed are 1 to 1024, or 0 for the real machine", m.CPUs)
	case m.NUMANodes < 1 || m.NUMANodes > maxNUMANodes:
		return fmt.Errorf("numa: %d is out of range, allowed are 1 to %d", m.NUMANodes, maxNUMANodes)
	case m.CPUs%m.NUMANodes != 0:
		return fmt.Errorf("cpus: %d do not divide evenly among %d NUMA nodes", m.CPUs, m.NUMANodes)
	case m.MemoryBytes < 1<<30:
		return fmt.Errorf("memory: %d bytes is too little, at least 1Gi is needed", m.MemoryBytes)
	}
	return nil
}

// Simulated reports whether there is anything to pretend.
func (m Machine) Simulated() bool { return m.CPUs > 0 }

func (m Machine) cpusPerNode() int { return m.CPUs / m.NUMANodes }

// cpusOf returns the first and last CPU of a NUMA node; they are contiguous.
func (m Machine) cpusOf(node int) (first, last int) {
	first = node * m.cpusPerNode()
	return first, first + m.cpusPerNode() - 1
}

// String is for people.
func (m Machine) String() string {
	if !m.Simulated() {
		return "the real machine"
	}
	return fmt.Sprintf("simulated: %d CPUs, %d GiB, %d NUMA nodes", m.CPUs, m.MemoryBytes>>30, m.NUMANodes)
}
