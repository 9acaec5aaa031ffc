// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"maps"
	"slices"
)

// Amount is what Node status says of one resource.
type Amount struct {
	Capacity, Allocatable int
}

// Node is what Node status says of every resource that it knows. A resource
// whose plugin has been gone for longer than StopGrace has zero of both; its
// name stays.
func (k *Kubelet) Node() map[string]Amount {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]Amount{}
	for resource, healthy := range k.healthy {
		p := k.plugins[resource]
		if p == nil || !p.stopped.IsZero() && k.cfg.Now().Sub(p.stopped) > StopGrace {
			all[resource] = Amount{}
			continue
		}
		all[resource] = Amount{Capacity: len(k.devices[resource]), Allocatable: len(healthy)}
	}
	return all
}

// Allocatable is the number of healthy devices of a resource.
func (k *Kubelet) Allocatable(resource string) int { return k.Node()[resource].Allocatable }

// Healthy lists the healthy device IDs of a resource, sorted.
func (k *Kubelet) Healthy(resource string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.healthy[resource]))
}

// Devices lists all device IDs of a resource, sorted.
func (k *Kubelet) Devices(resource string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.devices[resource]))
}

// Connected is the number of plugins connected for a resource.
func (k *Kubelet) Connected(resource string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.clients[resource])
}
