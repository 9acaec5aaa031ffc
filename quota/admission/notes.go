// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/queue"
)

// changed reports whether an update changes an annotation, or a new object has it.
func changed(before, after *metav1.ObjectMeta, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		was, had := before.Annotations[name]
		is, has := after.Annotations[name]
		return had != has || was != is
	})
}

// rankChanged reports whether the place in the queue changes.
func rankChanged(before, after *metav1.ObjectMeta) bool {
	return changed(before, after, v1alpha1.RankAnnotation, v1alpha1.PromotedAnnotation)
}

// authors are the annotations that say who changed others last.
func authors(before, after *metav1.ObjectMeta, who string) map[string]string {
	by := map[string]string{}
	if rankChanged(before, after) {
		by[v1alpha1.RankedByAnnotation] = who
	}
	if changed(before, after, v1alpha1.ExtendAnnotation) {
		by[v1alpha1.ExtendedByAnnotation] = who
	}
	return by
}

// checkNotes judges what people write on a workload: its place in the queue, its gang
// and its extension. before is empty for a new object.
func (i *Identity) checkNotes(ctx context.Context, req admission.Request, before, d document) (Refusals, *failure) {
	refusals := checkRanks(&before.meta, &d.meta)
	if d.gang.given && (d.gang.text != before.gang.text || !before.gang.given) {
		if refused := d.gang.check(); refused != nil {
			refusals = append(refusals, *refused)
		}
	}
	if _, has := d.meta.Annotations[v1alpha1.ExtendAnnotation]; has && changed(&before.meta, &d.meta, v1alpha1.ExtendAnnotation) {
		refused, failed := i.checkExtension(ctx, req, before, d)
		if failed != nil {
			return nil, failed
		}
		if refused != nil {
			refusals = append(refusals, *refused)
		}
	}
	return refusals, nil
}

// checkRanks refuses places in the queue that nothing could be compared with.
func checkRanks(before, after *metav1.ObjectMeta) Refusals {
	var refusals Refusals
	for _, name := range []string{v1alpha1.RankAnnotation, v1alpha1.PromotedAnnotation} {
		given, has := after.Annotations[name]
		if !has || !changed(before, after, name) {
			continue
		}
		if err := queue.CheckKey(given); err != nil {
			refusals = append(refusals, Refusal{Reason: ReasonBadRank, Field: annotationField(name), Value: given,
				Detail: fmt.Sprintf("is no place in the queue: %v; have it written by kubectl aipub queue move or promote", err)})
		}
	}
	return refusals
}

// gangOfAll is what a gang of all of a Job's pods is written as.
const gangOfAll = "all"

// check refuses a gang that could never start, or is none.
func (g gang) check() *Refusal {
	n, err := strconv.ParseInt(g.text, 10, 32)
	switch {
	case g.text == gangOfAll:
		return nil
	case g.text == "":
		return &Refusal{Reason: ReasonBadGang, Field: g.field,
			Detail: fmt.Sprintf("is empty; give a whole number from 2, or %s, or leave the annotation out: then each pod starts by itself", gangOfAll)}
	case err != nil || n < 2:
		return &Refusal{Reason: ReasonBadGang, Field: g.field, Value: g.text,
			Detail: fmt.Sprintf("is no number of pods that start together; give a whole number from 2, or %s for spec.parallelism", gangOfAll)}
	case n > g.parallelism && g.parallelism > 0:
		return &Refusal{Reason: ReasonBadGang, Field: g.field, Value: g.text,
			Detail: fmt.Sprintf("is more than spec.parallelism, which is %d, so these pods would never be there together; give at most that, or %s, or raise spec.parallelism", g.parallelism, gangOfAll)}
	}
	return nil
}
