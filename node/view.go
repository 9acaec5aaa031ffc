// SPDX-License-Identifier: Apache-2.0

package node

import "aipub.io/aipub/gpu"

// view is an observation, indexed.
type view struct {
	known bool
	// pods are those that have not ended, by name.
	pods map[podName]gpu.Pod
	// waiting is how many slices of a set a pod has asked for beyond those that
	// the kubelet lists for it; unlisted is the sum over the pods.
	waiting  map[podSet]int
	unlisted map[string]int
}

type podName struct{ namespace, name string }

type podSet struct {
	podName
	set string
}

func newView(o gpu.Observation) view {
	v := view{known: o.PodsKnown, pods: map[podName]gpu.Pod{}, waiting: map[podSet]int{}, unlisted: map[string]int{}}
	if !o.PodsKnown {
		return v
	}
	listed := map[podSet]int{}
	for _, h := range o.Holdings {
		listed[podSet{nameOf(h.Holder), h.Set}] += len(h.Slices)
	}
	for _, p := range o.Pods {
		name := podName{p.Namespace, p.Name}
		v.pods[name] = p
		for set, n := range p.Sets {
			key := podSet{name, set}
			v.waiting[key] = max(0, n-listed[key])
			v.unlisted[set] += v.waiting[key]
		}
	}
	return v
}

func nameOf(h gpu.Holder) podName { return podName{h.Namespace, h.Pod} }

// uid is the pod's UID as far as it is known.
func (v view) uid(h gpu.Holder) string {
	if h.PodUID != "" {
		return h.PodUID
	}
	return v.pods[nameOf(h)].UID
}

// mayBeActive is false only if the API server is known to have no such pod.
func (v view) mayBeActive(h gpu.Holder) bool {
	if !v.known {
		return true
	}
	p, ok := v.pods[nameOf(h)]
	return ok && (p.UID == "" || h.PodUID == "" || p.UID == h.PodUID)
}

// mayHold reports whether a slice that is not listed may still be its last
// holder's: not if that pod has ended, nor if all that it asks for is listed.
func (v view) mayHold(h gpu.Holder, set string) bool {
	return v.mayBeActive(h) && (v.pods[nameOf(h)].Sets == nil || v.waiting[podSet{nameOf(h), set}] > 0)
}
