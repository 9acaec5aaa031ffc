// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

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
	user, refusal := Charge(f)
	if refusal != nil {
		if !d.charged() && refusal.Reason != ReasonForgedUser {
			return nil, d.forgedStamps(f), nil
		}
		return nil, Refusals{*refusal}, nil
	}
	stamps, refusals := d.stampsOf(user, f, i.kinds)
	if !f.Trusted && rankChanged(&metav1.ObjectMeta{}, &d.meta) {
		stamps[v1alpha1.RankedByAnnotation] = req.UserInfo.Username
	}
	return stamps, refusals, nil
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
	v := stamped(d, stamps, nil)
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

// RankStamper serves [PathStampRank]: it writes who changed a workload's place in
// the queue. Whether they may is the policies' business.
func RankStamper(config Config) *admission.Webhook {
	return newReviewer("stamp-rank", config, func(_ context.Context, req admission.Request) (verdict, *failure) {
		var before, after struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		}
		if failed := decode(req.Object.Raw, &after); failed != nil {
			return verdict{}, failed
		}
		if failed := decode(req.OldObject.Raw, &before); failed != nil {
			return verdict{}, failed
		}
		v := verdict{reason: ReasonUnchanged}
		if rankChanged(&before.Metadata, &after.Metadata) {
			v.reason = ReasonStamped
			v.patches = annotate(&after.Metadata, map[string]string{v1alpha1.RankedByAnnotation: req.UserInfo.Username})
		}
		return v, nil
	})
}
