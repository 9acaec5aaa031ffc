// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/nvidia-container-toolkit/pkg/nvcdi"
	"github.com/go-logr/logr"
	"tags.cncf.io/container-device-interface/specs-go"
)

// errNoToolkit: discovery was not configured.
var errNoToolkit = errors.New("not configured")

// memoryLimitHook would set a memory limit of the toolkit's own and is given a
// driver root in this process's view.
const memoryLimitHook = "apply-cuda-memory-limits"

// toolkit opens the discovery for one look.
func (d *Driver) toolkit(log logr.Logger, look func(nvcdi.Interface) error) error {
	if d.config.Lend == nil {
		return errNoToolkit
	}
	disabled := []string{memoryLimitHook}
	if d.config.HookPath == "" {
		disabled = append(disabled, string(nvcdi.AllHooks))
	}
	return d.config.Lend(func(lib nvml.Interface) error {
		discovery, err := nvcdi.New(
			nvcdi.WithNvmlLib(lib),
			nvcdi.WithMode(nvcdi.ModeNvml),
			nvcdi.WithLogger(toolkitLog{log.WithName("toolkit")}),
			nvcdi.WithDriverRoot(d.config.Root),
			nvcdi.WithDevRoot(d.config.DevRoot),
			nvcdi.WithNVIDIACDIHookPath(d.config.HookPath),
			nvcdi.WithDisabledHooks(disabled...),
			nvcdi.WithFeatureFlags(nvcdi.FeatureDisableNvsandboxUtils),
		)
		if err != nil {
			return fmt.Errorf("open discovery: %w", err)
		}
		return look(discovery)
	})
}

// toolkitCommon are the driver's files in the runtime's view.
func (d *Driver) toolkitCommon(log logr.Logger) (found specs.ContainerEdits, err error) {
	err = d.toolkit(log, func(discovery nvcdi.Interface) error {
		edits, err := discovery.GetCommonEdits()
		if err != nil {
			return fmt.Errorf("discover driver files: %w", err)
		}
		if !slices.ContainsFunc(edits.Mounts, isLibrary) {
			return fmt.Errorf("no library of driver %s found below %s", d.config.Version, d.config.Root)
		}
		found = d.translate(*edits.ContainerEdits)
		return nil
	})
	return found, err
}

// toolkitGPU is what the toolkit knows about one GPU.
func (d *Driver) toolkitGPU(log logr.Logger, uuid string) (found specs.ContainerEdits, err error) {
	err = d.toolkit(log, func(discovery nvcdi.Interface) error {
		devices, err := discovery.GetDeviceSpecsByID(uuid)
		if err != nil {
			return fmt.Errorf("discover GPU: %w", err)
		}
		if len(devices) == 0 {
			return errors.New("discover GPU: nothing found")
		}
		found = d.translate(devices[0].ContainerEdits)
		return nil
	})
	return found, err
}

// translate moves host paths from this process's view to the runtime's.
func (d *Driver) translate(e specs.ContainerEdits) specs.ContainerEdits {
	out := e
	out.Mounts, out.DeviceNodes = nil, nil
	for _, m := range e.Mounts {
		moved := *m
		moved.HostPath = hostPath(m.HostPath, d.config.Root, d.config.HostRoot)
		out.Mounts = append(out.Mounts, &moved)
	}
	for _, n := range e.DeviceNodes {
		moved := *n
		if moved.HostPath == "" {
			moved.HostPath = n.Path
		}
		moved.HostPath = hostPath(moved.HostPath, d.config.DevRoot, d.config.HostDevRoot)
		if moved.HostPath == moved.Path {
			moved.HostPath = ""
		}
		out.DeviceNodes = append(out.DeviceNodes, &moved)
	}
	return out
}

// toolkitLog passes the toolkit's chatter on as explanations.
type toolkitLog struct{ log logr.Logger }

func (l toolkitLog) Debugf(string, ...any) {}
func (l toolkitLog) Tracef(string, ...any) {}
func (l toolkitLog) Infof(format string, args ...any) {
	l.log.V(1).Info("toolkit says", "text", fmt.Sprintf(format, args...))
}
func (l toolkitLog) Warningf(format string, args ...any) {
	l.log.V(1).Info("toolkit warns", "text", fmt.Sprintf(format, args...))
}
func (l toolkitLog) Errorf(format string, args ...any) {
	l.log.V(1).Info("toolkit reports an error", "text", fmt.Sprintf(format, args...))
}
