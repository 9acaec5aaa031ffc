// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"aipub.io/aipub/quota"
)

// Floor is the guaranteed minimum of an Operation: the author's, else the
// autoscaler's, else one as long as any is wished for. It is false where that is none.
// nil has no autoscalers.
func (w *Workload) Floor(autoscalers *Autoscalers) (quota.Floor, bool) {
	if w.minimum == nil {
		return quota.Floor{}, false
	}
	f := quota.Floor{Workload: w.Workload, Party: w.Party, Sets: w.minimum.sets, MinReplicas: w.minimum.given}
	if f.MinReplicas < 0 {
		n, scaled := autoscalers.least(&w.Workload)
		if !scaled {
			n = min(1, w.minimum.replicas)
		}
		f.MinReplicas = n
	}
	return f, f.MinReplicas > 0
}

// Floors are the minimums of the workloads in managed namespaces, the eldest first.
// project is a namespace's, empty for none.
func Floors(workloads iter.Seq[*Workload], autoscalers *Autoscalers, project func(namespace string) string) []quota.Floor {
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
