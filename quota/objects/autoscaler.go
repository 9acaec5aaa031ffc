// SPDX-License-Identifier: Apache-2.0

package objects

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"aipub.io/aipub/quota"
)

// Autoscalers are the HorizontalPodAutoscalers of a cluster. Whoever may write one in
// a namespace raises the minimum of what it scales there; what the quotas of that
// workload's own user do not hold is not guaranteed, see [gate.Snapshot]. The zero
// value has none and is ready.
type Autoscalers struct {
	targets map[named]target
	// minimums of each target, by its autoscalers: there may be several.
	minimums map[target]map[named]int64
}

type named struct{ namespace, name string }

// target is what an autoscaler scales. The version of its kind does not matter.
type target struct{ namespace, group, kind, name string }

// Set takes what an autoscaler says now. One whose target's apiVersion is not valid
// scales nothing.
func (a *Autoscalers) Set(h *autoscalingv2.HorizontalPodAutoscaler) {
	a.Remove(h)
	ref := h.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return
	}
	key, to := named{h.Namespace, h.Name}, target{h.Namespace, version.Group, ref.Kind, ref.Name}
	if a.targets == nil {
		a.targets, a.minimums = map[named]target{}, map[target]map[named]int64{}
	}
	a.targets[key] = to
	if a.minimums[to] == nil {
		a.minimums[to] = map[named]int64{}
	}
	a.minimums[to][key] = min(orOne(h.Spec.MinReplicas), int64(h.Spec.MaxReplicas))
}

// Remove forgets an autoscaler.
func (a *Autoscalers) Remove(h *autoscalingv2.HorizontalPodAutoscaler) {
	key := named{h.Namespace, h.Name}
	to, known := a.targets[key]
	if !known {
		return
	}
	delete(a.targets, key)
	delete(a.minimums[to], key)
	if len(a.minimums[to]) == 0 {
		delete(a.minimums, to)
	}
}

// least is the most that one of a workload's autoscalers has as its least replicas;
// false where none scales it.
func (a *Autoscalers) least(w *quota.Workload) (int64, bool) {
	if a == nil {
		return 0, false
	}
	all := a.minimums[target{w.Namespace, w.Group, w.Kind, w.Name}]
	most := int64(0)
	for _, n := range all {
		most = max(most, n)
	}
	return most, len(all) > 0
}
