// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// PodMutator serves [PathMutatePods]: it expands the sets of new pods, writes on
// them who is charged, and closes their gate. reader lists ResourceSets, preferably
// from a cache.
func PodMutator(reader client.Reader, identity *Identity, config Config) *admission.Webhook {
	return newReviewer("mutate-pods", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		pod, sets, failed := podAndSets(ctx, req, reader)
		if failed != nil {
			return verdict{}, failed
		}
		x, refusals := Expand(pod, sets)
		stamps, forged, failed := identity.stamp(ctx, req, podDocument(pod))
		if failed != nil {
			return verdict{}, failed
		}
		gate, chosen := closeGate(pod)
		refusals = slices.Concat(refusals, forged, chosen)
		if len(refusals) > 0 {
			return verdict{refusals: refusals}, nil
		}
		v := verdict{reason: ReasonUnchanged, patches: append(patch(pod, x, stamps), gate...), warnings: x.Warnings}
		if len(v.patches) > 0 {
			v.reason = ReasonExpanded
		}
		return v, nil
	})
}

// PodValidator serves [PathValidatePods]: it judges new pods and resizes, and
// refuses a person's Workspace that does not fit the ledger.
func PodValidator(reader client.Reader, ledger Ledger, config Config) *admission.Webhook {
	return newReviewer("validate-pods", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		pod, sets, failed := podAndSets(ctx, req, reader)
		if failed != nil {
			return verdict{}, failed
		}
		if req.Operation != admissionv1.Update {
			refusals := Check(pod, sets)
			if len(refusals) == 0 {
				ask, bad := newAsk(podDocument(pod), nil)
				refusals = fits(ctx, ledger, ask, bad)
			}
			return verdict{reason: ReasonUnchanged, refusals: refusals}, nil
		}
		var before corev1.Pod
		if failed := decode(req.OldObject.Raw, &before); failed != nil {
			return verdict{}, failed
		}
		return verdict{reason: ReasonUnchanged, refusals: CheckResize(&before, pod, sets)}, nil
	})
}

func podDocument(pod *corev1.Pod) document {
	return document{kind: podKind, meta: pod.ObjectMeta, pod: &pod.Spec, at: "spec", replicas: 1}
}

func podAndSets(ctx context.Context, req admission.Request, reader client.Reader) (*corev1.Pod, Sets, *failure) {
	var pod corev1.Pod
	if failed := decode(req.Object.Raw, &pod); failed != nil {
		return nil, nil, failed
	}
	sets, failed := listSets(ctx, reader)
	return &pod, sets, failed
}

func listSets(ctx context.Context, reader client.Reader) (Sets, *failure) {
	var list v1alpha1.ResourceSetList
	if err := reader.List(ctx, &list); err != nil {
		return nil, unavailable(fmt.Errorf("list resource sets: %w", err))
	}
	return MakeSets(list.Items), nil
}

func decode(raw []byte, into any) *failure {
	if err := json.Unmarshal(raw, into); err != nil {
		return &failure{code: http.StatusBadRequest, reason: ReasonBadRequest, err: fmt.Errorf("decode object: %w", err)}
	}
	return nil
}
