// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/go-logr/logr"
	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/gpu"
)

// Config says where the driver is.
type Config struct {
	// Root is the root of the driver installation as this process sees it, and
	// HostRoot as the container runtime does. Both default to "/".
	Root, HostRoot string
	// DevRoot and HostDevRoot are the directories that hold dev/nvidia0;
	// defaults Root and HostRoot.
	DevRoot, HostDevRoot string
	// Proc is where the driver's entries of /proc are; default: proc below Root
	// if it has them, else "/proc".
	Proc string
	// Version of the driver, such as "575.57.08": its libraries end in it.
	Version string
	// HookPath is where the container runtime finds nvidia-cdi-hook; empty when
	// the host has none.
	HookPath string
	// Lend gives the open NVML library to the toolkit's discovery for the time of a
	// call, and returns what that returned. Nil: discovery is not used.
	Lend func(func(nvml.Interface) error) error
	// MakeNode makes a missing capability node; default mknod(2).
	MakeNode func(path string, major, minor uint32) error
}

// Driver finds files and nodes. It keeps no state: each call looks anew.
type Driver struct{ config Config }

// New fills in the defaults of a Config. It looks at nothing yet.
func New(c Config) *Driver {
	def := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
		*field = filepath.Clean(*field)
	}
	def(&c.Root, "/")
	def(&c.HostRoot, "/")
	def(&c.DevRoot, c.Root)
	def(&c.HostDevRoot, c.HostRoot)
	if c.MakeNode == nil {
		c.MakeNode = makeNode
	}
	return &Driver{config: c}
}

// Common are the edits that every container with a GPU gets.
func (d *Driver) Common(ctx context.Context) (specs.ContainerEdits, error) {
	log := logr.FromContextOrDiscard(ctx).WithName("cdi")
	control, err := d.controlNodes()
	if err != nil {
		return specs.ContainerEdits{}, err
	}
	files, err := d.toolkitCommon(log)
	if err != nil {
		log.Info("toolkit discovery not usable, looking for libraries directly", "reason", err.Error())
		if files, err = d.libraries(); err != nil {
			return specs.ContainerEdits{}, err
		}
	}
	edits := cdi.Merge(control, files)
	if d.config.HookPath == "" {
		edits = cdi.Merge(edits, d.withoutHooks(edits))
	}
	return edits, nil
}

// GPU are the edits of one whole GPU, wherever it is used whole or in blocks.
func (d *Driver) GPU(ctx context.Context, g gpu.GPU) (specs.ContainerEdits, error) {
	node, err := d.node(gpuNode(g))
	if err != nil {
		return specs.ContainerEdits{}, fmt.Errorf("GPU %s: %w", g.UUID, err)
	}
	own := specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{node}}
	more, err := d.toolkitGPU(logr.FromContextOrDiscard(ctx).WithName("cdi"), g.UUID)
	if err != nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("toolkit tells nothing about GPU", "gpu", g.UUID, "reason", err.Error())
		return own, nil
	}
	return cdi.Merge(own, more), nil
}

// Instance are the edits of one MIG instance: its GPU's node, and the capability
// nodes that open this instance and no other. Missing capability nodes are made.
func (d *Driver) Instance(_ context.Context, g gpu.GPU, inst gpu.Instance) (specs.ContainerEdits, error) {
	if inst.CIID < 0 {
		return specs.ContainerEdits{}, fmt.Errorf("GPU instance %d of GPU %s has no compute instance", inst.GIID, g.UUID)
	}
	caps, err := d.capNodes(g.Minor, inst)
	if err != nil {
		return specs.ContainerEdits{}, fmt.Errorf("MIG instance %d of GPU %s: %w", inst.GIID, g.UUID, err)
	}
	var edits specs.ContainerEdits
	for _, path := range append([]string{gpuNode(g)}, caps...) {
		node, err := d.node(path)
		if err != nil {
			return specs.ContainerEdits{}, fmt.Errorf("MIG instance %d of GPU %s: %w", inst.GIID, g.UUID, err)
		}
		edits.DeviceNodes = append(edits.DeviceNodes, node)
	}
	return edits, nil
}

// proc is where the driver's entries of /proc are.
func (d *Driver) proc() string {
	if d.config.Proc != "" {
		return d.config.Proc
	}
	below := filepath.Join(d.config.Root, "proc")
	if _, err := os.Stat(filepath.Join(below, "driver/nvidia")); err == nil {
		return below
	}
	return "/proc"
}

func gpuNode(g gpu.GPU) string { return fmt.Sprintf("/dev/nvidia%d", g.Minor) }

// controlNodes are the devices through which every program talks to the driver.
// Only the first is needed by all; the others exist once their module is loaded.
func (d *Driver) controlNodes() (specs.ContainerEdits, error) {
	var edits specs.ContainerEdits
	for i, path := range []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"} {
		node, err := d.node(path)
		if i > 0 && errors.Is(err, errNoNode) {
			continue
		}
		if err != nil {
			return edits, err
		}
		edits.DeviceNodes = append(edits.DeviceNodes, node)
	}
	return edits, nil
}

// hostPath translates a path below a root that this process sees to the one
// that the runtime sees.
func hostPath(path, root, hostRoot string) string {
	rest := path
	if root != "/" {
		cut, ok := strings.CutPrefix(path, root)
		if !ok || cut != "" && !strings.HasPrefix(cut, "/") {
			return path
		}
		rest = cut
	}
	return filepath.Join(hostRoot, rest)
}
