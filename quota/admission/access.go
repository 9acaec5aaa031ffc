// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
)

// What RBAC gives to who may act for others, and to who may extend beyond what
// ReclaimPolicies let everybody.
const (
	IdentitiesResource = "identities"
	VerbAssign         = "assign"
	WorkspacesResource = "workspaces"
	VerbExtend         = "extend"
)

// accessReviews asks by SubjectAccessReviews.
type accessReviews struct{ client client.Client }

// AccessReviews is an [Access] that asks the API server.
func AccessReviews(c client.Client) Access { return accessReviews{c} }

func (a accessReviews) MayAssign(ctx context.Context, who authenticationv1.UserInfo, namespace, user string) (bool, error) {
	return a.may(ctx, who, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: VerbAssign, Resource: IdentitiesResource, Name: user})
}

func (a accessReviews) MayExtend(ctx context.Context, who authenticationv1.UserInfo, namespace string) (bool, error) {
	return a.may(ctx, who, authorizationv1.ResourceAttributes{Namespace: namespace, Verb: VerbExtend, Resource: WorkspacesResource})
}

func (a accessReviews) may(ctx context.Context, who authenticationv1.UserInfo, what authorizationv1.ResourceAttributes) (bool, error) {
	what.Group, what.Version = v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: who.Username, Groups: who.Groups, UID: who.UID, ResourceAttributes: &what,
	}}
	if len(who.Extra) > 0 {
		review.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		for key, values := range who.Extra {
			review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
		}
	}
	if err := a.client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s may %s %s %q: %w", who.Username, what.Verb, what.Resource, what.Name, err)
	}
	return review.Status.Allowed, nil
}
