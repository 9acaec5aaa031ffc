// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// Pods lists the node's pods that have not ended, from memory. known is false
// until the API server has been heard once.
func (w *Watcher) Pods(ctx context.Context) (pods []gpu.Pod, known bool, err error) {
	if !w.synced.Load() {
		return nil, false, nil
	}
	var list corev1.PodList
	if err := w.mgr.GetCache().List(ctx, &list); err != nil {
		return nil, false, fmt.Errorf("list pods: %w", err)
	}
	for i := range list.Items {
		p := &list.Items[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		pods = append(pods, gpu.Pod{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Sets: setsOf(p.Spec), Containers: containersOf(p.Status)})
	}
	return pods, true, nil
}

// setsOf is how many slices of each set a pod needs at the same time, by the
// rule of the scheduler: the containers and sidecars together, or any one init
// container beside the sidecars started before it, whichever is more.
func setsOf(spec corev1.PodSpec) map[string]int {
	running := map[string]int{}
	for _, c := range spec.Containers {
		add(running, setLimits(c))
	}
	sidecars, peak := map[string]int{}, map[string]int{}
	for _, c := range spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(sidecars, setLimits(c))
			continue
		}
		for set, n := range setLimits(c) {
			peak[set] = max(peak[set], sidecars[set]+n)
		}
	}
	add(running, sidecars)
	for set, n := range peak {
		running[set] = max(running[set], n)
	}
	return running
}

// containersOf is the ID of each container that the kubelet says was started.
func containersOf(s corev1.PodStatus) map[string]string {
	ids := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok { // RUNTIME://ID
				ids[c.Name] = id
			}
		}
	}
	return ids
}

func add(to, from map[string]int) {
	for set, n := range from {
		to[set] += n
	}
}

func setLimits(c corev1.Container) map[string]int {
	sets := map[string]int{}
	for name, q := range c.Resources.Limits {
		if set, ok := strings.CutPrefix(string(name), api.ResourcePrefix); ok {
			sets[set] = int(q.Value())
		}
	}
	return sets
}

// slimPod drops what the agent never reads, so that a node full of pods costs
// little memory.
func slimPod(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	slim := &corev1.Pod{}
	slim.Name, slim.Namespace, slim.UID, slim.ResourceVersion = p.Name, p.Namespace, p.UID, p.ResourceVersion
	slim.Status.Phase = p.Status.Phase
	slim.Status.InitContainerStatuses = slimStatuses(p.Status.InitContainerStatuses)
	slim.Status.ContainerStatuses = slimStatuses(p.Status.ContainerStatuses)
	slim.Spec.Containers = slimContainers(p.Spec.Containers)
	slim.Spec.InitContainers = slimContainers(p.Spec.InitContainers)
	return slim, nil
}

func slimContainers(containers []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range containers {
		slim := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy}
		for name, q := range c.Resources.Limits {
			if strings.HasPrefix(string(name), api.ResourcePrefix) {
				if slim.Resources.Limits == nil {
					slim.Resources.Limits = corev1.ResourceList{}
				}
				slim.Resources.Limits[name] = q
			}
		}
		out = append(out, slim)
	}
	return out
}

func slimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range statuses {
		out = append(out, corev1.ContainerStatus{Name: c.Name, ContainerID: c.ContainerID})
	}
	return out
}
