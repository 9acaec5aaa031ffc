// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// ConfigurationName is the name of both webhook configuration objects.
const ConfigurationName = "aipub"

// The paths under which the webhooks are served.
const (
	PathMutatePods        = "/mutate-pods"
	PathStamp             = "/stamp"
	PathStampNotes        = "/stamp-notes"
	PathValidatePods      = "/validate-pods"
	PathValidateWorkloads = "/validate-workloads"
	PathValidateScale     = "/validate-scale"
	PathValidatePolicies  = "/validate-partitionpolicies"
)

// The decisions that a [Recorder] is told.
const (
	DecisionAllowed = "allowed"
	DecisionRefused = "refused"
	DecisionFailed  = "failed"
)

// Recorder counts decisions.
type Recorder interface {
	// Decided is told each answer: the webhook's kind (such as "mutate-pods"),
	// one of the decisions above, the reason of the first refusal or of the
	// acceptance, and how long it took.
	Decided(kind, decision string, reason Reason, took time.Duration)
}

// Config is what all webhooks share.
type Config struct {
	// Recorder counts decisions; nil counts nothing.
	Recorder Recorder
	// Clock measures durations; nil is the machine's.
	Clock clock.PassiveClock
}

// verdict is the outcome of one review.
type verdict struct {
	reason   Reason
	patches  []jsonpatch.JsonPatchOperation
	warnings []string
	refusals Refusals
}

// failure is a review that came to no verdict.
type failure struct {
	code   int32
	reason Reason
	err    error
}

// reviewer turns a decision into a webhook.
type reviewer struct {
	kind   string
	config Config
	decide func(context.Context, admission.Request) (verdict, *failure)
}

func newReviewer(kind string, config Config, decide func(context.Context, admission.Request) (verdict, *failure)) *admission.Webhook {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &admission.Webhook{Handler: &reviewer{kind: kind, config: config, decide: decide}}
}

// Handle answers one request.
func (r *reviewer) Handle(ctx context.Context, req admission.Request) admission.Response {
	start := r.config.Clock.Now()
	v, failed := r.decide(ctx, req)
	took := r.config.Clock.Since(start)
	switch {
	case failed != nil:
		r.record(DecisionFailed, failed.reason, took)
		logr.FromContextOrDiscard(ctx).Error(failed.err, "Review came to no verdict", "kind", r.kind)
		return admission.Errored(failed.code, failed.err)
	case len(v.refusals) > 0:
		reason := v.refusals[0].Reason
		r.record(DecisionRefused, reason, took)
		logr.FromContextOrDiscard(ctx).V(1).Info("Refused", "kind", r.kind, "reason", reason, "message", v.refusals.String())
		return refuse(req, v)
	}
	r.record(DecisionAllowed, v.reason, took)
	return admission.Patched("", v.patches...).WithWarnings(v.warnings...)
}

func (r *reviewer) record(decision string, reason Reason, took time.Duration) {
	if r.config.Recorder != nil {
		r.config.Recorder.Decided(r.kind, decision, reason, took)
	}
}

// refuse answers with status Invalid, as Kubernetes' own validation does, so
// that clients print the sentences field by field.
func refuse(req admission.Request, v verdict) admission.Response {
	causes := make([]metav1.StatusCause, len(v.refusals))
	for i, refusal := range v.refusals {
		causes[i] = metav1.StatusCause{
			Type:    metav1.CauseType(refusal.Reason),
			Field:   refusal.Field,
			Message: refusal.message(),
		}
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed:  false,
		Warnings: v.warnings,
		Result: &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Message: v.refusals.String(),
			Details: &metav1.StatusDetails{
				Group: req.Kind.Group, Kind: req.Kind.Kind, Name: req.Name, Causes: causes,
			},
		},
	}}
}
