// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// controller is the name of the kernel's controller of device memory.
const controller = "dmem"

// Cgroups is the host's cgroup version 2 hierarchy.
type Cgroups struct {
	root    string
	written map[place]uint64
}

// place is where a limit was written.
type place struct{ cgroup, region string }

// NewCgroups uses the hierarchy that is mounted at root, as a rule /sys/fs/cgroup.
func NewCgroups(root string) *Cgroups { return &Cgroups{root: root, written: map[place]uint64{}} }

// Regions lists what can be limited: nothing, where the kernel lacks the
// controller, no driver has registered memory, or the hierarchy is version 1.
func (c *Cgroups) Regions() ([]Region, error) {
	text, err := os.ReadFile(filepath.Join(c.root, "dmem.capacity"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read regions of device memory: %w", err)
	}
	return ParseRegions(string(text))
}

// Apply writes those limits that it has not written yet, and goes on after an
// error. A cgroup that is gone takes its limits with it and is no error.
func (c *Cgroups) Apply(limits []Limit) error {
	var errs []error
	now := map[place]uint64{}
	for _, l := range limits {
		at := place{l.Cgroup, l.Region}
		if was, ok := c.written[at]; ok && was == l.Bytes {
			now[at] = was
			continue
		}
		switch err := c.write(l); {
		case err == nil:
			now[at] = l.Bytes
		case c.exists(l.Cgroup):
			errs = append(errs, err)
		}
	}
	c.written = now
	return errors.Join(errs...)
}

func (c *Cgroups) exists(cgroup string) bool {
	_, err := os.Stat(filepath.Join(c.root, cgroup))
	return err == nil
}

func (c *Cgroups) write(l Limit) error {
	if err := c.enable(l.Cgroup); err != nil {
		return err
	}
	if err := put(filepath.Join(c.root, l.Cgroup, "dmem.max"), l.Region+" "+strconv.FormatUint(l.Bytes, 10)+"\n"); err != nil {
		return fmt.Errorf("limit %s of cgroup %s to %d bytes: %w", l.Region, l.Cgroup, l.Bytes, err)
	}
	return nil
}

// enable hands the controller down to a cgroup: each ancestor has to pass it on.
// No container runtime asks for it, and none takes it away again.
func (c *Cgroups) enable(cgroup string) error {
	dir := c.root
	for _, part := range strings.Split(strings.Trim(cgroup, "/"), "/") {
		file := filepath.Join(dir, "cgroup.subtree_control")
		have, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read controllers of %s: %w", dir, err)
		}
		if !slices.Contains(strings.Fields(string(have)), controller) {
			if err := put(file, "+"+controller); err != nil {
				return fmt.Errorf("enable controller %s below %s: %w", controller, dir, err)
			}
		}
		dir = filepath.Join(dir, part)
	}
	return nil
}

// put writes into a file of the kernel's, which must be there.
func put(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ErrNoCgroup is what CgroupOf answers when a process is in no cgroup that can be
// limited.
var ErrNoCgroup = errors.New("no cgroup of a container in the version 2 hierarchy")

// CgroupOf finds a container's own cgroup in the text of /proc/PID/cgroup of one
// of its processes; id is the container's, as the runtime gives it. What the
// container made below its own does not matter: the limit is for all of it.
func CgroupOf(text, id string) (string, error) {
	if id == "" {
		return "", ErrNoCgroup
	}
	for line := range strings.Lines(text) {
		path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::") // version 2, cgroups(7)
		if !ok {
			continue
		}
		if strings.HasPrefix(path, "/..") {
			return "", fmt.Errorf("%w: %s lies outside of the agent's cgroup namespace; run the agent privileged", ErrNoCgroup, path)
		}
		parts := strings.Split(path, "/")
		for i, part := range parts {
			if strings.Contains(part, id) {
				return strings.Join(parts[:i+1], "/"), nil
			}
		}
	}
	return "", ErrNoCgroup
}
