// SPDX-License-Identifier: Apache-2.0

package node

import "aipub.io/aipub/gpu"

// view is an observation, indexed.
type view struct {
	known bool
	// uids are the pods that have not ended, by name.
	uids map[podName]string
	// unlisted is, per set, how many slices the pods have asked for beyond
	// those that the kubelet lists for them.
	unlisted map[string]int
}

type podName struct{ namespace, name string }

func newView(o gpu.Observation) view {
	v := view{known: o.PodsKnown, uids: map[podName]string{}, unlisted: map[string]int{}}
	if !o.PodsKnown {
		return v
	}
	type podSet struct {
		podName
		set string
	}
	listed := map[podSet]int{}
	for _, h := range o.Holdings {
		listed[podSet{podName{h.Holder.Namespace, h.Holder.Pod}, h.Set}] += len(h.Slices)
	}
	for _, p := range o.Pods {
		name := podName{p.Namespace, p.Name}
		v.uids[name] = p.UID
		for set, n := range p.Sets {
			v.unlisted[set] += max(0, n-listed[podSet{name, set}])
		}
	}
	return v
}

// uid is the pod's UID as far as it is known.
func (v view) uid(h gpu.Holder) string {
	if h.PodUID != "" {
		return h.PodUID
	}
	return v.uids[podName{h.Namespace, h.Pod}]
}

// mayBeActive is false only if the API server is known to have no such pod.
func (v view) mayBeActive(h gpu.Holder) bool {
	if !v.known {
		return true
	}
	uid, ok := v.uids[podName{h.Namespace, h.Pod}]
	return ok && (uid == "" || h.PodUID == "" || uid == h.PodUID)
}
