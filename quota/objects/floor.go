// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"iter"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"aipub.io/aipub/quota"
)

// Target names what an autoscaler scales.
type Target struct{ Namespace, Kind, Name string }

// AutoscalerOf is what an autoscaler scales, and its least replicas.
func AutoscalerOf(h *autoscalingv2.HorizontalPodAutoscaler) (Target, int64) {
	return Target{h.Namespace, h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name}, orOne(h.Spec.MinReplicas)
}

// Floor is the guaranteed minimum of an Operation: the author's, else the
// autoscaler's, else one as long as any is wished for. It is false where that is none.
func (w *Workload) Floor(autoscalers map[Target]int64) (quota.Floor, bool) {
	if w.minimum == nil {
		return quota.Floor{}, false
	}
	f := quota.Floor{Workload: w.Workload, Party: w.Party, Sets: w.minimum.sets, MinReplicas: w.minimum.given}
	if f.MinReplicas < 0 {
		n, scaled := autoscalers[Target{w.Namespace, w.Kind, w.Name}]
		if !scaled {
			n = min(1, w.minimum.replicas)
		}
		f.MinReplicas = n
	}
	return f, f.MinReplicas > 0
}

// Floors are the minimums of the workloads in managed namespaces, the eldest first.
// project is a namespace's, empty for none.
func Floors(workloads iter.Seq[*Workload], autoscalers map[Target]int64, project func(namespace string) string) []quota.Floor {
	type dated struct {
		quota.Floor
		created time.Time
	}
	var all []dated
	for w := range workloads {
		if f, ok := w.Floor(autoscalers); ok && Managed(w.Namespace, project(w.Namespace)) {
			all = append(all, dated{f, w.Created})
		}
	}
	slices.SortFunc(all, func(a, b dated) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.Workload.UID, b.Workload.UID))
	})
	out := make([]quota.Floor, len(all))
	for i, f := range all {
		out[i] = f.Floor
	}
	return out
}
