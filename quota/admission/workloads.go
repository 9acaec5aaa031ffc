// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// WorkloadValidator serves [PathValidateWorkloads]: it refuses a Workspace, or the
// minimum of an Operation, that does not fit the ledger, and a Workspace whose set is
// not defined. reader lists ResourceSets, preferably from a cache.
func WorkloadValidator(reader client.Reader, ledger Ledger, config Config) *admission.Webhook {
	return newReviewer("validate-workloads", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		kind := schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}
		d, failed := readDocument(kind, req.Object.Raw)
		if failed != nil {
			return verdict{}, failed
		}
		var before *document
		if req.Operation == admissionv1.Update {
			was, failed := readDocument(kind, req.OldObject.Raw)
			if failed != nil {
				return verdict{}, failed
			}
			before = &was
		}
		if d.own != nil && (before == nil || before.own.Set != d.own.Set) {
			sets, failed := listSets(ctx, reader)
			if failed != nil {
				return verdict{}, failed
			}
			if refused := checkSet(d.own.Set, sets); refused != nil {
				return verdict{refusals: Refusals{*refused}}, nil
			}
		}
		ask, refusals := newAsk(d, before)
		return verdict{reason: ReasonUnchanged, refusals: fits(ctx, ledger, ask, refusals)}, nil
	})
}

// scalable are the kinds behind the scale subresources.
var scalable = map[string]schema.GroupVersionKind{
	"deployments":            {Group: "apps", Version: "v1", Kind: "Deployment"},
	"statefulsets":           {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	"replicasets":            {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	"replicationcontrollers": {Version: "v1", Kind: "ReplicationController"},
}

// ScaleValidator serves [PathValidateScale]: more replicas of a Workspace must fit
// the ledger of the workload's owner, whoever scales it. Those of an Operation wait
// for their turn. live reads the workload, since a Scale says nothing of its pods.
func ScaleValidator(live client.Reader, ledger Ledger, config Config) *admission.Webhook {
	return newReviewer("validate-scale", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		var was, wanted autoscalingv1.Scale
		if failed := decode(req.OldObject.Raw, &was); failed != nil {
			return verdict{}, failed
		}
		if failed := decode(req.Object.Raw, &wanted); failed != nil {
			return verdict{}, failed
		}
		before, failed := scaled(ctx, live, req)
		if failed != nil || before == nil {
			return verdict{reason: ReasonUnchanged}, failed
		}
		after := *before
		before.replicas, after.replicas = int64(was.Spec.Replicas), int64(wanted.Spec.Replicas)
		ask, refusals := newAsk(after, before)
		if ask != nil {
			ask.Field = "spec.replicas"
		}
		return verdict{reason: ReasonUnchanged, refusals: fits(ctx, ledger, ask, refusals)}, nil
	})
}

// scaled reads the workload that a Scale belongs to; nil when it is gone or of a
// kind that is not judged.
func scaled(ctx context.Context, live client.Reader, req admission.Request) (*document, *failure) {
	gvk, known := scalable[req.Resource.Resource]
	if !known {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	err := live.Get(ctx, types.NamespacedName{Namespace: req.Namespace, Name: req.Name}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(fmt.Errorf("read %s %s/%s: %w", gvk.Kind, req.Namespace, req.Name, err))
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, unavailable(fmt.Errorf("encode %s %s/%s: %w", gvk.Kind, req.Namespace, req.Name, err))
	}
	d, failed := readDocument(gvk.GroupKind(), raw)
	return &d, failed
}
