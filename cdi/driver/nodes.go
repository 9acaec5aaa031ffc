// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"tags.cncf.io/container-device-interface/specs-go"
)

// errNoNode: the device node does not exist.
var errNoNode = errors.New("device node does not exist")

// node describes a device node by its path in the container, after making sure
// that it exists on the host. Its numbers are left to the runtime, which reads
// them when a container starts: they can change when modules are loaded anew.
func (d *Driver) node(path string) (*specs.DeviceNode, error) {
	seen := filepath.Join(d.config.DevRoot, path)
	info, err := os.Stat(seen)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s (looked for it as %s); load the driver's modules, or run nvidia-modprobe on the host", errNoNode, path, seen)
	}
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", path, err)
	}
	if info.Mode()&os.ModeCharDevice == 0 {
		return nil, fmt.Errorf("%s is not a character device", seen)
	}
	n := &specs.DeviceNode{Path: path, Permissions: "rw"}
	if host := filepath.Join(d.config.HostDevRoot, path); host != path {
		n.HostPath = host
	}
	return n, nil
}

// makeNode makes a character device that everybody may read: what a capability
// allows is decided by who is given the node.
func makeNode(path string, major, minor uint32) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := unix.Mknod(path, unix.S_IFCHR|0o444, int(unix.Mkdev(major, minor)))
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o444) // the umask may have taken bits
}
