// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
)

// kept are the stamps that stay as they are once written. An update that leaves
// them out, as one that writes a manifest anew does, gets them back.
var kept = []string{v1alpha1.UserAnnotation, v1alpha1.ProjectAnnotation, v1alpha1.TypeAnnotation, v1alpha1.WorkloadAnnotation}

// controllers are the annotations that our controller writes on what ReclaimPolicies
// bind.
var controllers = []string{v1alpha1.OccupancyAnnotation, v1alpha1.PausedAnnotation, v1alpha1.PausedReplicasAnnotation}

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
	case has && d.kind == workspaceKind && given != string(v1alpha1.TypeWorkspace):
		return nil, Refusals{{Reason: ReasonBadType, Field: annotationField(v1alpha1.TypeAnnotation), Value: given,
			Detail: "is not what a Workspace is; leave the annotation out, or make a Job or a Deployment"}}
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
	for _, name := range controllers {
		forged(name, "is written by AIPub's controller; leave it out")
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

// putBack adds to stamps what an update changes of what our controller writes, as it
// was: kubectl rollout undo, for one, writes what a workload said when it was at an
// earlier revision. Taking aipub.io/paused away is how people resume. It returns the
// annotations that were not there and are to go again, and what to tell who sent the
// update.
func putBack(before, after *metav1.ObjectMeta, stamps map[string]string) (forged, warnings []string) {
	for _, name := range controllers {
		was, had := before.Annotations[name]
		is, has := after.Annotations[name]
		if !has && (!had || name == v1alpha1.PausedAnnotation) || has && had && is == was {
			continue
		}
		if had {
			stamps[name] = was
		} else {
			forged = append(forged, name)
		}
		if has {
			warnings = append(warnings, fmt.Sprintf("%s: only AIPub's controller writes it; it stays as it was", annotationField(name)))
		}
	}
	return forged, warnings
}
