// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// kept are the stamps that stay as they are once written. An update that leaves
// them out, as one that writes a manifest anew does, gets them back.
var kept = []string{v1alpha1.UserAnnotation, v1alpha1.ProjectAnnotation, v1alpha1.TypeAnnotation, v1alpha1.WorkloadAnnotation}

// stampsOf are the annotations that a new object of a kind gets, once it is known
// who is charged.
func (d document) stampsOf(user string, f Facts, kinds Kinds) (map[string]string, Refusals) {
	stamps := map[string]string{v1alpha1.UserAnnotation: user}
	if d.kind == serviceAccountKind {
		return stamps, nil
	}
	stamps[v1alpha1.ProjectAnnotation] = f.Project
	if d.kind == claimKind {
		return stamps, d.forgedStamps(f)
	}
	given, has := d.meta.Annotations[v1alpha1.TypeAnnotation]
	switch {
	case f.Owner != nil && f.Trusted:
		stamps[v1alpha1.TypeAnnotation] = string(f.Owner.Type)
		if d.kind == podKind {
			stamps[v1alpha1.WorkloadAnnotation] = f.Owner.Workload
		}
	case has && !isType(given):
		return nil, Refusals{badType(given)}
	case has:
		stamps[v1alpha1.TypeAnnotation] = given
	default:
		stamps[v1alpha1.TypeAnnotation] = string(kinds[d.kind])
	}
	return stamps, d.forgedStamps(f)
}

func badType(given string) Refusal {
	return Refusal{Reason: ReasonBadType, Field: annotationField(v1alpha1.TypeAnnotation), Value: given,
		Detail: fmt.Sprintf("is no workload type; give one of %s, or leave the annotation out", typeNames)}
}

// forgedStamps refuses what the author of a new object may not say. What a trusted
// controller copied is replaced without a word.
func (d document) forgedStamps(f Facts) Refusals {
	var refusals Refusals
	forged := func(name, detail string) {
		if given, has := d.meta.Annotations[name]; has {
			refusals = append(refusals, Refusal{Reason: ReasonForgedStamp, Field: annotationField(name), Value: given, Detail: detail})
		}
	}
	if !f.Controller {
		const opened = "is written by AIPub's controller when it opens the pod's gate; leave it out"
		forged(v1alpha1.NodeAnnotation, opened)
		forged(v1alpha1.OpenedAnnotation, opened)
	}
	if f.Trusted {
		return refusals
	}
	if given := d.meta.Annotations[v1alpha1.ProjectAnnotation]; given != f.Project {
		forged(v1alpha1.ProjectAnnotation, fmt.Sprintf("is not the project of this namespace, which is %s; leave it out", f.Project))
	}
	if !f.MayAssign {
		forged(v1alpha1.WorkloadAnnotation, "is written for pods that a controller makes; leave it out")
	}
	return refusals
}

func annotationField(name string) string { return "metadata.annotations[" + name + "]" }

// missing returns those of the stamps that an object lacks or has otherwise.
func missing(object *metav1.ObjectMeta, stamps map[string]string) map[string]string {
	wanted := maps.Clone(stamps)
	maps.DeleteFunc(wanted, func(name, value string) bool { return value == "" || object.Annotations[name] == value })
	return wanted
}

// lost returns the stamps that an update leaves out.
func lost(before, after *metav1.ObjectMeta) map[string]string {
	back := map[string]string{}
	for _, name := range kept {
		was, had := before.Annotations[name]
		if _, has := after.Annotations[name]; had && !has {
			back[name] = was
		}
	}
	return back
}

// rankChanged reports whether an update changes the place in the queue, or a new
// object has one.
func rankChanged(before, after *metav1.ObjectMeta) bool {
	return slices.ContainsFunc([]string{v1alpha1.RankAnnotation, v1alpha1.PromotedAnnotation}, func(name string) bool {
		was, had := before.Annotations[name]
		is, has := after.Annotations[name]
		return had != has || was != is
	})
}
