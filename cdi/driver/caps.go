// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"aipub.io/aipub/gpu"
)

// capNodes are the capability nodes of a MIG instance: one for its GPU
// instance, one for its compute instance. The driver's table
// (driver/nvidia-caps/mig-minors below /proc) gives their numbers.
func (d *Driver) capNodes(minor int, inst gpu.Instance) ([]string, error) {
	table := filepath.Join(d.proc(), "driver/nvidia-caps/mig-minors")
	minors, err := readTable(table)
	if err != nil {
		return nil, fmt.Errorf("read MIG capabilities: %w", err)
	}
	var nodes []string
	for _, name := range []string{
		fmt.Sprintf("gpu%d/gi%d/access", minor, inst.GIID),
		fmt.Sprintf("gpu%d/gi%d/ci%d/access", minor, inst.GIID, inst.CIID),
	} {
		number, ok := minors[name]
		if !ok {
			return nil, fmt.Errorf("%s has no line for %s", table, name)
		}
		node := fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", number)
		if err := d.ensureCap(node, number); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// ensureCap makes a capability node that is not there yet: the driver leaves
// that to whoever uses it.
func (d *Driver) ensureCap(node string, minor int) error {
	seen := filepath.Join(d.config.DevRoot, node)
	if _, err := os.Stat(seen); !errors.Is(err, os.ErrNotExist) {
		return nil // judged by node
	}
	devices := filepath.Join(d.proc(), "devices")
	majors, err := readTable(devices)
	if err != nil {
		return fmt.Errorf("find the capabilities' major number: %w", err)
	}
	major, ok := majors["nvidia-caps"]
	if !ok {
		return fmt.Errorf("%s has no line for nvidia-caps: load the nvidia module", devices)
	}
	if err := d.config.MakeNode(seen, uint32(major), uint32(minor)); err != nil {
		return fmt.Errorf("make %s: %w: give the agent CAP_MKNOD and a writable /dev, or run nvidia-modprobe on the host", seen, err)
	}
	return nil
}

// readTable reads lines of a name and a number, in either order; others are
// passed over.
func readTable(path string) (map[string]int, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table := map[string]int{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if n, err := strconv.Atoi(fields[1]); err == nil {
			table[fields[0]] = n
		} else if n, err := strconv.Atoi(fields[0]); err == nil {
			table[fields[1]] = n
		}
	}
	return table, nil
}
