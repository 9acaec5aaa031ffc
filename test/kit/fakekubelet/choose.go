// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"fmt"
	"maps"
	"slices"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// free drops the records of pods that have ended. Before the pods are known
// nothing is dropped. k.mu is held.
func (k *Kubelet) free() {
	if !k.ready {
		return
	}
	k.records = slices.DeleteFunc(k.records, func(r record) bool { return k.pods[r.PodUID] == nil })
	k.recount()
}

// recount makes the allocated devices anew from the records. k.mu is held.
func (k *Kubelet) recount() {
	k.allocated = map[string]map[string]bool{}
	for _, r := range k.records {
		k.occupy(r.Resource, r.Devices)
	}
}

func (k *Kubelet) occupy(resource string, ids []string) {
	if k.allocated[resource] == nil {
		k.allocated[resource] = map[string]bool{}
	}
	for _, id := range ids {
		k.allocated[resource][id] = true
	}
}

// choose picks the devices to ask of the plugin; none when the container has
// them already.
func (k *Kubelet) choose(ctx context.Context, pod *Pod, c Container, resource string, reusable map[string]bool) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.free()
	need := c.Limits[resource]
	had := k.recorded(pod.UID, c.Name, resource)
	if len(had) > 0 && len(had) != need {
		return nil, fmt.Errorf("pod %q container %q changed request for resource %q from %d to %d", pod.UID, c.Name, resource, len(had), need)
	}
	if k.running[pod.key(c.Name)] {
		return nil, nil
	}
	healthy, registered := k.healthy[resource]
	switch {
	case !registered:
		return nil, fmt.Errorf("cannot allocate unregistered device %s", resource)
	case len(healthy) == 0:
		return nil, fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", resource)
	}
	for _, id := range had {
		if !healthy[id] {
			return nil, fmt.Errorf("previously allocated devices are no longer healthy; cannot allocate unhealthy devices %s", resource)
		}
	}
	if len(had) > 0 {
		return nil, nil
	}
	return k.pick(ctx, c, resource, reusable)
}

// pick follows the kubelet's order: reusable, then near to the chosen NUMA
// nodes as the plugin prefers, then the rest as the plugin prefers. k.mu is
// held, but not during calls to the plugin.
func (k *Kubelet) pick(ctx context.Context, c Container, resource string, reusable map[string]bool) ([]string, error) {
	need := c.Limits[resource]
	var got []string
	takeFrom := func(ids []string) bool {
		for _, id := range ids {
			if len(got) < need && !slices.Contains(got, id) {
				got = append(got, id)
			}
		}
		k.occupy(resource, got)
		return len(got) == need
	}
	if takeFrom(slices.Sorted(maps.Keys(reusable))) {
		return got, nil
	}
	var available, aligned []string
	for _, id := range slices.Sorted(maps.Keys(k.healthy[resource])) {
		if !k.allocated[resource][id] {
			available = append(available, id)
			if near(k.devices[resource][id], c.NUMA) {
				aligned = append(aligned, id)
			}
		}
	}
	if len(available) < need-len(got) {
		return nil, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", resource, need-len(got), len(available))
	}
	among := available
	if need-len(got) < len(aligned) {
		among = aligned
	} else if takeFrom(aligned) {
		return got, nil
	}
	preferred, err := k.prefer(ctx, resource, append(slices.Clone(among), got...), got, need)
	if err != nil {
		return nil, err
	}
	preferred = slices.DeleteFunc(preferred, func(id string) bool { return !slices.Contains(among, id) })
	if !takeFrom(preferred) {
		takeFrom(among)
	}
	return got, nil
}

// near reports whether a device lies on one of the nodes.
func near(d *pluginapi.Device, nodes []int) bool {
	for _, n := range d.GetTopology().GetNodes() {
		if slices.Contains(nodes, int(n.ID)) {
			return true
		}
	}
	return false
}

// prefer asks the plugin. k.mu is released meanwhile.
func (k *Kubelet) prefer(ctx context.Context, resource string, available, must []string, n int) ([]string, error) {
	p := k.plugins[resource]
	if p == nil || p.options == nil || !p.options.GetPreferredAllocationAvailable {
		return nil, nil
	}
	k.mu.Unlock()
	resp, err := p.api.GetPreferredAllocation(ctx, &pluginapi.PreferredAllocationRequest{
		ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{
			{AvailableDeviceIDs: available, MustIncludeDeviceIDs: must, AllocationSize: int32(n)}}}) // n is small
	k.mu.Lock()
	if err != nil {
		return nil, fmt.Errorf("device plugin GetPreferredAllocation rpc failed with err: %w", err)
	}
	if len(resp.ContainerResponses) == 0 {
		return nil, nil
	}
	return resp.ContainerResponses[0].DeviceIDs, nil
}
