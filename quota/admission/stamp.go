// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// Stamper serves [PathStamp]: it writes on new workloads, claims and
// ServiceAccounts who is charged, and gives back what an update left out.
func Stamper(identity *Identity, config Config) *admission.Webhook {
	return newReviewer("stamp", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		d, failed := readDocument(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, req.Object.Raw)
		if failed != nil {
			return verdict{}, failed
		}
		if req.Operation == admissionv1.Update {
			return identity.restore(ctx, req, d)
		}
		stamps, refusals, failed := identity.stamp(ctx, req, d)
		if failed != nil {
			return verdict{}, failed
		}
		return stamped(d, stamps, refusals), nil
	})
}

// stamp decides the annotations of a new object. Without refusals and stamps,
// nobody is known to charge, and nothing of the object is charged.
func (i *Identity) stamp(ctx context.Context, req admission.Request, d document) (map[string]string, Refusals, *failure) {
	f, failed := i.facts(ctx, req, d)
	if failed != nil {
		return nil, nil, failed
	}
	if f.Project == "" {
		return nil, d.noProject(req.Namespace), nil
	}
	user, refusal := Charge(f)
	if refusal != nil {
		if !d.charged() && refusal.Reason != ReasonForgedUser {
			return nil, d.forgedStamps(f), nil
		}
		return nil, Refusals{*refusal}, nil
	}
	stamps, refusals := d.stampsOf(user, f, i.kinds)
	if f.Trusted || len(refusals) > 0 {
		return stamps, refusals, nil
	}
	maps.Copy(stamps, authors(&metav1.ObjectMeta{}, &d.meta, req.UserInfo.Username))
	refusals, failed = i.checkNotes(ctx, req, document{}, d.with(stamps))
	return stamps, refusals, failed
}

// noProject refuses what would be charged in a namespace whose label names no project.
func (d document) noProject(namespace string) Refusals {
	if !d.charged() {
		return nil
	}
	return Refusals{{Reason: ReasonNoProject, Field: "metadata.namespace", Value: namespace, Detail: fmt.Sprintf(
		"has the label %s without a value, so no project would be charged; ask whoever manages namespaces to name one: kubectl label --overwrite namespace %s %s=PROJECT",
		v1alpha1.ProjectLabel, namespace, v1alpha1.ProjectLabel)}}
}

// with is the document as it will be with its stamps.
func (d document) with(stamps map[string]string) document {
	annotations := maps.Clone(stamps)
	for name, value := range d.meta.Annotations {
		if _, stamped := stamps[name]; !stamped {
			annotations[name] = value
		}
	}
	d.meta.Annotations = annotations
	return d
}

// restore gives an update back the stamps that it left out, and stamps a workload
// that has none yet and makes what is charged. Nothing is refused here: what may
// not change is the policies' business, and what stays unstamped makes no pods.
func (i *Identity) restore(ctx context.Context, req admission.Request, d document) (verdict, *failure) {
	before, failed := readDocument(d.kind, req.OldObject.Raw)
	if failed != nil {
		return verdict{}, failed
	}
	stamps := lost(&before.meta, &d.meta)
	if before.meta.Annotations[v1alpha1.UserAnnotation] == "" && d.kind != podKind && d.charged() {
		fresh, refusals, failed := i.stamp(ctx, req, d)
		if failed != nil {
			return verdict{}, failed
		}
		if len(refusals) == 0 {
			stamps = fresh
		}
	}
	var forged, warnings []string
	if !i.trusts(req.UserInfo.Username) {
		forged, warnings = putBack(&before.meta, &d.meta, stamps)
	}
	v := stamped(d, stamps, nil)
	v.warnings = warnings
	for _, name := range forged {
		v.reason = ReasonStamped
		v.patches = append(v.patches, jsonpatch.NewOperation("remove", "/metadata/annotations/"+escape(name), nil))
	}
	was, had := before.meta.Labels[v1alpha1.SetLabel]
	if _, has := d.meta.Labels[v1alpha1.SetLabel]; had && !has {
		v.reason = ReasonStamped
		v.patches = append(v.patches, put("/metadata/labels", d.meta.Labels, map[string]string{v1alpha1.SetLabel: was})...)
	}
	return v, nil
}

func stamped(d document, stamps map[string]string, refusals Refusals) verdict {
	v := verdict{reason: ReasonUnchanged, refusals: refusals}
	if len(refusals) > 0 {
		return v
	}
	v.patches = annotate(&d.meta, stamps)
	switch {
	case len(v.patches) > 0:
		v.reason = ReasonStamped
	case len(stamps) == 0:
		v.reason = ReasonNotCharged
	}
	return v
}

// NoteStamper serves [PathStampNotes]: it refuses places in the queue, gangs and
// extensions that make no sense, and writes who changed them. Who may order the queue
// is the policies' business.
func NoteStamper(identity *Identity, config Config) *admission.Webhook {
	return newReviewer("stamp-notes", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
		after, failed := readDocument(kind, req.Object.Raw)
		if failed != nil {
			return verdict{}, failed
		}
		before, failed := readDocument(kind, req.OldObject.Raw)
		if failed != nil {
			return verdict{}, failed
		}
		refusals, failed := identity.checkNotes(ctx, req, before, after)
		if failed != nil || len(refusals) > 0 {
			return verdict{refusals: refusals}, failed
		}
		v := verdict{reason: ReasonUnchanged, patches: annotate(&after.meta, authors(&before.meta, &after.meta, req.UserInfo.Username))}
		if len(v.patches) > 0 {
			v.reason = ReasonStamped
		}
		return v, nil
	})
}
