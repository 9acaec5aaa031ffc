// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// A quota for a set that is not defined says so until it is.
func TestAQuotaSaysWhichSetsItDoesNotKnow(t *testing.T) {
	q := &api.ResourceSetQuota{ObjectMeta: metav1.ObjectMeta{Name: "vision", Generation: 3}}
	q.Spec.Limits.Sets = map[string]int32{"smal": 1}
	status := func(sizes quota.Sizes) *metav1.Condition {
		book := quota.NewBook([]api.ResourceSetQuota{*q}, sizes)
		return meta.FindStatusCondition(quotaStatus(q, book, sizes, nil, time.Unix(1, 0)).Conditions, api.ConditionReady)
	}
	before := status(quota.Sizes{"small": 1})
	if before.Status != metav1.ConditionFalse || before.Reason != api.ReasonUnknownSet || before.ObservedGeneration != 3 ||
		!strings.Contains(before.Message, "spec.limits.sets[smal]") || !strings.Contains(before.Message, "closest first: small") {
		t.Errorf("condition %+v", before)
	}
	if after := status(quota.Sizes{"small": 1, "smal": 1}); after.Status != metav1.ConditionTrue || after.Reason != api.ReasonApplied {
		t.Errorf("condition %+v", after)
	}
}
