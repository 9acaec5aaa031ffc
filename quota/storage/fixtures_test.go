// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

const gi = int64(1) << 30

// quotaOf makes one; text is a quantity, "-" none.
func quotaOf(name string, scope api.QuotaScope, total string, volumes int32, classes ...string) api.StorageQuota {
	q := api.StorageQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.StorageQuotaSpec{Scope: scope}}
	if total != "-" {
		size := resource.MustParse(total)
		q.Spec.Limits.Total = &size
	}
	if volumes >= 0 {
		q.Spec.Limits.Volumes = &volumes
	}
	for i := 0; i+1 < len(classes); i += 2 {
		if q.Spec.Limits.PerStorageClass == nil {
			q.Spec.Limits.PerStorageClass = map[string]resource.Quantity{}
		}
		q.Spec.Limits.PerStorageClass[classes[i]] = resource.MustParse(classes[i+1])
	}
	return q
}

func claim(uid, name, user string, bytes int64) Claim {
	return Claim{UID: uid, Namespace: "team", Name: name, Owner: Owner{"vision", user}, Class: "fast", Bytes: bytes}
}

func reservation(c Claim) Reservation { return Reservation{Key: CreateKey(c), Claim: c} }

// requireShort checks which limits are in the way, as QUOTA/MEASURE.
func requireShort(t *testing.T, got []Shortfall, want ...string) {
	t.Helper()
	var names []string
	for _, s := range got {
		names = append(names, s.Quota+"/"+string(s.Measure))
	}
	if len(names) != len(want) {
		t.Fatalf("in the way: %v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Fatalf("in the way: %v, want %v", names, want)
		}
	}
}
