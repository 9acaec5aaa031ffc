// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"aipub.io/aipub/api/v1alpha1"
)

// ClusterReader reads what policies are judged against.
type ClusterReader interface {
	ReadCluster(context.Context) (Cluster, error)
}

// ClusterReaderFunc is a function as ClusterReader.
type ClusterReaderFunc func(context.Context) (Cluster, error)

// ReadCluster calls the function.
func (f ClusterReaderFunc) ReadCluster(ctx context.Context) (Cluster, error) { return f(ctx) }

// PolicyValidator serves [PathValidatePolicies].
func PolicyValidator(reader ClusterReader, config Config) *admission.Webhook {
	now := config.Clock
	if now == nil {
		now = clock.RealClock{}
	}
	return newReviewer("validate-partitionpolicies", config, func(ctx context.Context, req admission.Request) (verdict, *failure) {
		var policy v1alpha1.PartitionPolicy
		if failed := decode(req.Object.Raw, &policy); failed != nil {
			return verdict{}, failed
		}
		if req.Operation == admissionv1.Update {
			var before v1alpha1.PartitionPolicy
			if failed := decode(req.OldObject.Raw, &before); failed != nil {
				return verdict{}, failed
			}
			if equality.Semantic.DeepEqual(before.Spec, policy.Spec) {
				return verdict{reason: ReasonSpecUnchanged}, nil
			}
		}
		cluster, err := reader.ReadCluster(ctx)
		if err != nil {
			return verdict{}, &failure{
				code: http.StatusServiceUnavailable, reason: ReasonUnavailable, err: fmt.Errorf("read cluster: %w", err),
			}
		}
		refusals, warnings := CheckPolicy(&policy, cluster, now.Now())
		return verdict{reason: ReasonAccepted, refusals: refusals, warnings: warnings}, nil
	})
}
