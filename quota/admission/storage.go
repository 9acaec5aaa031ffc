// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/quota/admission/claims"
	"aipub.io/aipub/quota/storage"
)

// PathValidateClaims is where [ClaimValidator] is served.
const PathValidateClaims = "/validate-claims"

// Why a volume claim is let through or refused, beside the quotas' own reasons.
const (
	// ReasonReserved: it fits, and room is kept for it.
	ReasonReserved Reason = "Reserved"
	// ReasonNotStamped: nobody is known to charge.
	ReasonNotStamped Reason = "NotStamped"
	// ReasonAlreadyExists: there is a claim of this name.
	ReasonAlreadyExists Reason = "AlreadyExists"
	// ReasonTooManyReservations: too many claims were admitted a moment ago.
	ReasonTooManyReservations Reason = "TooManyReservations"
)

// ClaimValidator serves [PathValidateClaims]: it judges new volume claims and those
// that are to grow by the storage quotas, and keeps room for what it lets through.
// live is asked whether a claim of a name exists; it must not be a cache.
func ClaimValidator(live client.Reader, ledger *claims.Ledger, config Config) *admission.Webhook {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	judge := newReviewer("validate-claims", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		change, refusals, failed := claimChange(req, ledger.Known())
		if failed != nil || len(refusals) > 0 {
			return verdict{refusals: refusals}, failed
		}
		if change == nil {
			return verdict{reason: ReasonUnchanged}, nil
		}
		short, err := ledger.Reserve(ctx, *change)
		switch {
		case errors.Is(err, storage.ErrFull):
			return verdict{refusals: tooMany()}, nil
		case err != nil:
			return verdict{}, unavailable(err)
		}
		return verdict{reason: ReasonReserved, refusals: refusalsOf(short, change.Claim)}, nil
	})
	return &admission.Webhook{Handler: &duplicates{live: live, claims: ledger.Known(), next: judge.Handler, config: config}}
}

// claimChange is what a request would add; nil where it adds nothing.
func claimChange(req admission.Request, known claims.Known) (*claims.Change, Refusals, *failure) {
	var pvc corev1.PersistentVolumeClaim
	if failed := decode(req.Object.Raw, &pvc); failed != nil {
		return nil, nil, failed
	}
	after := storage.ClaimOf(&pvc)
	after.Version = 0
	change := &claims.Change{Key: storage.CreateKey(after), Claim: after, Dry: ptr.Deref(req.DryRun, false)}
	if req.Operation == admissionv1.Create {
		if after.Owner.User == "" || after.Owner.Project == "" {
			return nil, Refusals{{Reason: ReasonNotStamped, Field: userField, Detail: "is missing, so nobody would be charged; " +
				"it is written on creation, so see that the MutatingWebhookConfiguration " + ConfigurationName + " exists"}}, nil
		}
		return change, nil, nil
	}
	var was corev1.PersistentVolumeClaim
	if failed := decode(req.OldObject.Raw, &was); failed != nil {
		return nil, nil, failed
	}
	before := storage.ClaimOf(&was)
	if after.Bytes <= before.Bytes && after.Class == before.Class {
		return nil, nil, nil
	}
	change.Key, change.Claim.Owner = storage.ChangeKey(before, after), before.Owner
	if before.Owner.User == "" || before.Owner.Project == "" {
		change.Claim.Owner = storage.Owner{}
		known.Use(func(b *storage.Book) {
			if found, ok := b.Named(after.Namespace, after.Name); ok {
				change.Claim.Owner = found.Owner
			}
		})
	}
	return change, nil, nil
}

// refusalsOf names the fields that are in the way.
func refusalsOf(short []claims.Short, c storage.Claim) Refusals {
	var refusals Refusals
	for _, s := range short {
		r := Refusal{Reason: Reason(s.Reason), Field: "spec.resources.requests.storage", Value: storage.SizeText(c.Bytes), Detail: "does not fit: " + s.Sentence}
		if s.Measure == storage.Volumes {
			r.Field, r.Value, r.Detail = "spec", "", "one more claim does not fit: "+s.Sentence
		}
		refusals = append(refusals, r)
	}
	return refusals
}

func tooMany() Refusals {
	return Refusals{{Reason: ReasonTooManyReservations, Field: "metadata.name", Detail: fmt.Sprintf(
		"%d claims of the cluster were admitted in the last two minutes and are not all seen yet, and there may be no more at once; try again in a minute", storage.MaxReservations)}}
}

// duplicates answers for the API server where a claim of the name exists: creation
// would fail a moment later, and must not keep room meanwhile.
type duplicates struct {
	live   client.Reader
	claims claims.Known
	next   admission.Handler
	config Config
}

// Handle answers one request.
func (d *duplicates) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || !d.known(req) {
		return d.next.Handle(ctx, req)
	}
	start := d.config.Clock.Now()
	found := partial(schema.GroupVersionKind{Version: "v1", Kind: claimKind.Kind})
	err := d.live.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: req.Name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return d.next.Handle(ctx, req)
	case err != nil:
		d.record(DecisionFailed, ReasonUnavailable, start)
		return admission.Errored(http.StatusServiceUnavailable, fmt.Errorf("read claim %s/%s: %w", req.Namespace, req.Name, err))
	}
	d.record(DecisionRefused, ReasonAlreadyExists, start)
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "persistentvolumeclaims"}, req.Name)
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: ptr.To(exists.Status())}}
}

// known reports whether this replica has seen a claim of the name.
func (d *duplicates) known(req admission.Request) bool {
	found := false
	d.claims.Use(func(b *storage.Book) { _, found = b.Named(req.Namespace, req.Name) })
	return found
}

func (d *duplicates) record(decision string, reason Reason, start time.Time) {
	if d.config.Recorder != nil {
		d.config.Recorder.Decided("validate-claims", decision, reason, d.config.Clock.Since(start))
	}
}
