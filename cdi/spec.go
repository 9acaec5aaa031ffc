// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"fmt"
	"maps"
	"slices"

	cdilib "tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/pkg/parser"
	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/gpu"
)

// SetSpec is the spec of one slice: its environment and the edits of the
// hardware behind it, in order of its GPUs. The error names what the CDI rules
// do not allow.
func SetSpec(s gpu.Slice, hardware ...specs.ContainerEdits) (*specs.Spec, error) {
	edits := Merge(hardware...)
	env := Env(s)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		edits.Env = append(edits.Env, name+"="+env[name])
	}
	return spec(setClass, string(s.ID), edits)
}

// DriverSpec is the spec of what all GPU slices share.
func DriverSpec(edits specs.ContainerEdits) (*specs.Spec, error) {
	return spec(driverClass, driverDevice, Merge(edits))
}

// spec makes a checked spec with one device, of the oldest version that can
// express it, so that old runtimes can read it.
func spec(class, device string, edits specs.ContainerEdits) (*specs.Spec, error) {
	if err := parser.ValidateDeviceName(device); err != nil {
		return nil, fmt.Errorf("name CDI device: %w", err)
	}
	if err := (&cdilib.ContainerEdits{ContainerEdits: &edits}).Validate(); err != nil {
		return nil, fmt.Errorf("check CDI device %s: %w", device, err)
	}
	s := &specs.Spec{
		Kind:    vendor + "/" + class,
		Devices: []specs.Device{{Name: device, ContainerEdits: edits}},
	}
	version, err := specs.MinimumRequiredVersion(s)
	if err != nil {
		return nil, fmt.Errorf("choose CDI version: %w", err)
	}
	s.Version = version
	return s, nil
}

// Merge puts edits together. Of two device nodes or mounts with the same path in
// the container the first is kept; so are hooks and group IDs that repeat.
func Merge(all ...specs.ContainerEdits) specs.ContainerEdits {
	var out specs.ContainerEdits
	nodes, mounts, hooks := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range all {
		for _, v := range e.Env {
			if !slices.Contains(out.Env, v) {
				out.Env = append(out.Env, v)
			}
		}
		for _, n := range e.DeviceNodes {
			if first(nodes, n.Path) {
				out.DeviceNodes = append(out.DeviceNodes, n)
			}
		}
		for _, m := range e.Mounts {
			if first(mounts, m.ContainerPath) {
				out.Mounts = append(out.Mounts, m)
			}
		}
		for _, h := range e.Hooks {
			if first(hooks, fmt.Sprint(h.HookName, h.Path, h.Args)) {
				out.Hooks = append(out.Hooks, h)
			}
		}
		for _, g := range e.AdditionalGIDs {
			if !slices.Contains(out.AdditionalGIDs, g) {
				out.AdditionalGIDs = append(out.AdditionalGIDs, g)
			}
		}
	}
	return out
}

// first reports whether a key is new, and remembers it.
func first(seen map[string]bool, key string) bool {
	if seen[key] {
		return false
	}
	seen[key] = true
	return true
}
