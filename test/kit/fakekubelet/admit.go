// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Pod is a pod of this node.
type Pod struct {
	UID, Namespace, Name string
	// Containers in order; those that initialise come first.
	Containers []Container
}

// Container is a container and what it asks of device plugins.
type Container struct {
	Name   string
	Limits map[string]int
	// Init containers end before the others start, which reuse their devices.
	Init bool
	// NUMA is the topology manager's choice of nodes; none when empty.
	NUMA []int
}

func (p *Pod) key(container string) string { return p.UID + " " + container }

// Admit admits a pod and starts its containers, or returns the kubelet's words
// of refusal. A pod that has been admitted before, as after a start of the
// kubelet, needs what is recorded for it to be healthy, unless its containers
// run.
func (k *Kubelet) Admit(ctx context.Context, pod Pod) error {
	k.mu.Lock()
	k.pods[pod.UID] = &pod
	k.mu.Unlock()
	reusable := map[string]map[string]bool{}
	for _, c := range pod.Containers {
		if err := k.admitContainer(ctx, &pod, c, reusable); err != nil {
			k.Delete(pod.UID)
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range pod.Containers {
		k.running[pod.key(c.Name)] = !c.Init
	}
	k.signal()
	return nil
}

// Delete ends a pod. Its devices are freed when the next ones are asked for or
// listed.
func (k *Kubelet) Delete(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if pod := k.pods[uid]; pod != nil {
		for _, c := range pod.Containers {
			delete(k.running, pod.key(c.Name))
		}
	}
	delete(k.pods, uid)
	k.signal()
}

// Pods are the pods that have not ended.
func (k *Kubelet) Pods() []Pod {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Pod
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		all = append(all, *k.pods[uid])
	}
	return all
}

// Held are the devices that are recorded for a container, sorted.
func (k *Kubelet) Held(uid, container, resource string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.recorded(uid, container, resource)
}

func (k *Kubelet) admitContainer(ctx context.Context, pod *Pod, c Container, reusable map[string]map[string]bool) error {
	for _, resource := range slices.Sorted(maps.Keys(c.Limits)) {
		ids, err := k.choose(ctx, pod, c, resource, reusable[resource])
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			if err := k.allocate(ctx, pod.UID, c.Name, resource, ids); err != nil {
				return err
			}
		}
		if reusable[resource] == nil {
			reusable[resource] = map[string]bool{}
		}
		for _, id := range k.Held(pod.UID, c.Name, resource) {
			if c.Init {
				reusable[resource][id] = true
			} else {
				delete(reusable[resource], id)
			}
		}
	}
	return nil
}

// allocate asks the plugin and records its answer.
func (k *Kubelet) allocate(ctx context.Context, uid, container, resource string, ids []string) error {
	k.mu.Lock()
	plugin := k.plugins[resource]
	stopped := plugin == nil || plugin.api == nil || !plugin.stopped.IsZero()
	k.mu.Unlock()
	var resp *pluginapi.AllocateResponse
	err := fmt.Errorf("endpoint %s has been stopped", resource)
	if !stopped {
		resp, err = plugin.api.Allocate(ctx, &pluginapi.AllocateRequest{
			ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: ids}}})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && len(resp.ContainerResponses) == 0 {
		err = errors.New("no containers return in allocation response")
	}
	var answer []byte
	if err == nil {
		answer, err = proto.Marshal(resp.ContainerResponses[0])
	}
	if err != nil {
		k.recount()
		return err
	}
	k.records = append(k.records, record{PodUID: uid, Container: container, Resource: resource, Devices: ids, Response: answer})
	k.recount()
	k.checkpoint()
	return nil
}

// Response is the plugin's recorded answer for a container; nil when there is
// none.
func (k *Kubelet) Response(uid, container, resource string) *pluginapi.ContainerAllocateResponse {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.records {
		if r.PodUID == uid && r.Container == container && r.Resource == resource {
			resp := &pluginapi.ContainerAllocateResponse{}
			if proto.Unmarshal(r.Response, resp) == nil {
				return resp
			}
		}
	}
	return nil
}

func (k *Kubelet) recorded(uid, container, resource string) []string {
	var ids []string
	for _, r := range k.records {
		if r.PodUID == uid && r.Container == container && r.Resource == resource {
			ids = append(ids, r.Devices...)
		}
	}
	slices.Sort(ids)
	return ids
}
