// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"maps"
	"slices"

	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// lister is the PodResources service.
type lister struct {
	podresources.UnimplementedPodResourcesListerServer
	kubelet *Kubelet
}

// List frees what ended pods held and lists the rest. Containers that only
// initialise are not listed.
func (l *lister) List(context.Context, *podresources.ListPodResourcesRequest) (*podresources.ListPodResourcesResponse, error) {
	k := l.kubelet
	k.mu.Lock()
	defer k.mu.Unlock()
	resp := &podresources.ListPodResourcesResponse{}
	if !k.ready {
		return resp, nil
	}
	k.free()
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		pod := k.pods[uid]
		out := &podresources.PodResources{Name: pod.Name, Namespace: pod.Namespace}
		for _, c := range pod.Containers {
			if !c.Init {
				out.Containers = append(out.Containers, k.container(uid, c.Name))
			}
		}
		resp.PodResources = append(resp.PodResources, out)
	}
	return resp, nil
}

// container lists what a container holds: each device by itself.
func (k *Kubelet) container(uid, name string) *podresources.ContainerResources {
	out := &podresources.ContainerResources{Name: name}
	for _, r := range k.records {
		if r.PodUID != uid || r.Container != name {
			continue
		}
		for _, id := range r.Devices {
			d := &podresources.ContainerDevices{ResourceName: r.Resource, DeviceIds: []string{id}}
			for _, n := range k.devices[r.Resource][id].GetTopology().GetNodes() {
				d.Topology = &podresources.TopologyInfo{Nodes: append(d.Topology.GetNodes(), &podresources.NUMANode{ID: n.ID})}
			}
			out.Devices = append(out.Devices, d)
		}
	}
	return out
}
