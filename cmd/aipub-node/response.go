// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
)

// respond says what a container gets for its slices.
func (a *agent) respond(granted []gpu.Slice) (kubelet.Response, error) {
	if err := a.sharing.prepare(a.state.Snapshot(), granted); err != nil {
		return kubelet.Response{}, err
	}
	if a.options.cdi {
		return named(granted), nil
	}
	return spelledOut(granted, a.specs.access)
}

// named gives CDI names alone. Everything behind the names is in spec files
// that follow the hardware.
func named(granted []gpu.Slice) kubelet.Response {
	var names []string
	for _, s := range granted {
		for _, n := range cdi.Names(s) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return kubelet.Response{CDIDevices: names}
}

// spelledOut gives everything one by one, for a runtime without CDI. Slices that
// agree on a variable, a mount or a device give it once; of those that do not,
// the first wins.
func spelledOut(granted []gpu.Slice, access func(gpu.SliceID) (cdi.Access, bool)) (kubelet.Response, error) {
	r := kubelet.Response{Envs: map[string]string{}}
	for _, s := range granted {
		a, ok := access(s.ID)
		if !ok {
			return kubelet.Response{}, fmt.Errorf("slice %s: its devices are not known yet, because the GPU driver has not answered; the pod can be made again in a moment", s.ID)
		}
		for name, value := range a.Env {
			if _, taken := r.Envs[name]; !taken {
				r.Envs[name] = value
			}
		}
		for _, m := range a.Mounts {
			taken := slices.ContainsFunc(r.Mounts, func(o kubelet.Mount) bool { return o.ContainerPath == m.ContainerPath })
			if !taken {
				r.Mounts = append(r.Mounts, kubelet.Mount(m))
			}
		}
		for _, d := range a.Devices {
			taken := slices.ContainsFunc(r.Devices, func(o kubelet.DeviceNode) bool { return o.ContainerPath == d.ContainerPath })
			if !taken {
				r.Devices = append(r.Devices, kubelet.DeviceNode(d))
			}
		}
	}
	return r, nil
}
