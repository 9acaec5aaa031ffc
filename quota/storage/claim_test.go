// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

func list(text string) corev1.ResourceList {
	if text == "" {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(text)}
}

func TestClaimCountsTheLargestOfWhatItHas(t *testing.T) {
	for _, c := range []struct {
		name, requested, capacity, allocated string
		want                                 int64
	}{
		{"not bound yet", "10Gi", "", "", 10 * gi},
		{"the provisioner rounded up", "1Mi", "1Gi", "", gi},
		{"the volume is being enlarged", "20Gi", "10Gi", "20Gi", 20 * gi},
		{"an enlargement was given up", "12Gi", "10Gi", "20Gi", 20 * gi},
		{"a part of a byte", "100m", "", "", 1},
		{"a part of a byte more", "1500m", "", "", 2},
		{"decimal", "1G", "", "", 1e9},
		{"as large as can be", "9.3E", "", "", math.MaxInt64},
		{"nothing", "", "", "", 0},
	} {
		pvc := &corev1.PersistentVolumeClaim{
			Spec:   corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: list(c.requested)}},
			Status: corev1.PersistentVolumeClaimStatus{Capacity: list(c.capacity), AllocatedResources: list(c.allocated)},
		}
		if got := ClaimOf(pvc).Bytes; got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
		pvc.Status.Phase = corev1.ClaimLost
		if got := ClaimOf(pvc).Bytes; got != c.want {
			t.Errorf("%s and lost: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

func TestClaimOwnerAndClass(t *testing.T) {
	fast, none := "fast", ""
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Namespace: "team", Name: "data", ResourceVersion: "42",
			Annotations: map[string]string{api.UserAnnotation: "alice", api.ProjectAnnotation: "vision"}},
	}
	want := Claim{UID: "u", Namespace: "team", Name: "data", Owner: Owner{"vision", "alice"}, Version: 42}
	if got := ClaimOf(pvc); got != want {
		t.Errorf("no class yet: %+v, want %+v", got, want)
	}
	pvc.Spec.StorageClassName = &none
	if got := ClaimOf(pvc); got != want {
		t.Errorf("no class by choice: %+v, want %+v", got, want)
	}
	pvc.Spec.StorageClassName, want.Class = &fast, "fast"
	if got := ClaimOf(pvc); got != want {
		t.Errorf("class: %+v, want %+v", got, want)
	}
	pvc.Annotations[corev1.BetaStorageClassAnnotation], want.Class = "old", "old"
	if got := ClaimOf(pvc); got != want {
		t.Errorf("class of the annotation: %+v, want %+v", got, want)
	}
}

func TestSumsAreExactBeyondInt64(t *testing.T) {
	var sum tally
	for range 100 {
		sum = sum.plus(math.MaxInt64)
	}
	if !sum.above(math.MaxInt64) || sum.int64() != math.MaxInt64 {
		t.Errorf("100 of the largest are %+v", sum)
	}
	for range 99 {
		sum = sum.minus(math.MaxInt64)
	}
	if sum.minus(1) != (tally{}.plus(math.MaxInt64 - 1)) {
		t.Errorf("what is left is %+v, want one of the largest", sum)
	}
}
