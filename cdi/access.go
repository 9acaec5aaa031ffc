// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/gpu"
)

// Access is what a container gets, as plain values for a transport that does
// not use CDI.
type Access struct {
	Env     map[string]string
	Mounts  []Mount
	Devices []Device
}

// Mount binds a file or directory of the host.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
}

// Device is a device node of the host.
type Device struct {
	HostPath, ContainerPath string
	// Permissions are letters of "rwm".
	Permissions string
}

// Fallback expresses a slice without CDI. Hooks have no such form and are left
// out: the libraries must be found by their mounts.
//
// For a MIG slice the device nodes depend on the instance's numbers, which the
// kubelet would replay after the instance was created anew; with CDI this
// cannot happen. That is why CDI is used wherever the runtime has it.
func Fallback(s gpu.Slice, edits ...specs.ContainerEdits) Access {
	merged := Merge(edits...)
	a := Access{Env: Env(s)}
	for _, v := range merged.Env {
		name, value, _ := strings.Cut(v, "=")
		if _, ours := a.Env[name]; !ours {
			a.Env[name] = value
		}
	}
	for _, m := range merged.Mounts {
		a.Mounts = append(a.Mounts, Mount{
			HostPath:      m.HostPath,
			ContainerPath: m.ContainerPath,
			ReadOnly:      slices.Contains(m.Options, "ro"),
		})
	}
	for _, n := range merged.DeviceNodes {
		d := Device{HostPath: n.HostPath, ContainerPath: n.Path, Permissions: n.Permissions}
		if d.HostPath == "" {
			d.HostPath = n.Path
		}
		if d.Permissions == "" {
			d.Permissions = "rw"
		}
		a.Devices = append(a.Devices, d)
	}
	return a
}
