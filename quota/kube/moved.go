// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// announceMove records that somebody changed a workload's place in the queue, and
// who: it is what remains to be read of it afterwards. Only the leader records.
func (w *Watch) announceMove(before *objects.Workload, object client.Object) {
	if before == nil || w.events == nil || !w.leading.Load() {
		return
	}
	a := object.GetAnnotations()
	reason := ""
	switch {
	case a[api.PromotedAnnotation] != before.Promoted:
		reason = api.ReasonPromoted
	case a[api.RankAnnotation] != before.Rank:
		reason = api.ReasonMoved
	default:
		return
	}
	by := a[api.RankedByAnnotation]
	if by == "" {
		by = "somebody whom admission did not see"
	}
	note := fmt.Sprintf("%s changed its place in queue %s", by, a[api.ProjectAnnotation])
	if reason == api.ReasonPromoted && a[api.PromotedAnnotation] == "" {
		note = fmt.Sprintf("%s took its promotion in queue %s back", by, a[api.ProjectAnnotation])
	}
	w.events.Eventf(object, nil, corev1.EventTypeNormal, reason, "Reorder", "%s", note)
}
