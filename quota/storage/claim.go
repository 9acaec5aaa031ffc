// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// Owner is who a claim is charged to. User is empty where nobody is known, as for
// claims that are older than the project. Comparable.
type Owner struct {
	Project, User string
}

// Claim is a PersistentVolumeClaim or, where Saved is true, a WorkspaceSnapshot, as far
// as it is counted. What is saved counts in totals, and is no volume of any class.
type Claim struct {
	Saved                bool
	UID, Namespace, Name string
	Owner                Owner
	// Class is the name of its StorageClass, empty for none.
	Class string
	// Bytes that it counts, 0 or more.
	Bytes int64
	// Version is the number of its resourceVersion; 0 before it exists.
	Version uint64
}

// ClaimOf reads a claim. Its owner is what admission stamped on it.
func ClaimOf(pvc *corev1.PersistentVolumeClaim) Claim {
	return Claim{
		UID: string(pvc.UID), Namespace: pvc.Namespace, Name: pvc.Name,
		Owner:   Owner{Project: pvc.Annotations[api.ProjectAnnotation], User: pvc.Annotations[api.UserAnnotation]},
		Class:   classOf(pvc),
		Bytes:   max(bytesIn(pvc.Spec.Resources.Requests), bytesIn(pvc.Status.Capacity), bytesIn(pvc.Status.AllocatedResources)),
		Version: VersionOf(pvc.ResourceVersion),
	}
}

// classOf is the claim's class. The old annotation goes before the field, as in the
// volume controller.
func classOf(pvc *corev1.PersistentVolumeClaim) string {
	if class, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	if pvc.Spec.StorageClassName == nil {
		return ""
	}
	return *pvc.Spec.StorageClassName
}

func bytesIn(list corev1.ResourceList) int64 {
	q := list[corev1.ResourceStorage]
	return BytesOf(q)
}

// BytesOf is a quantity in whole bytes, rounded up; what is less than nothing is
// nothing, and what no int64 holds is the largest that it does.
func BytesOf(q resource.Quantity) int64 {
	switch {
	case q.Sign() <= 0:
		return 0
	case q.Cmp(*resource.NewQuantity(math.MaxInt64, resource.BinarySI)) >= 0:
		return math.MaxInt64
	}
	return q.Value()
}

// VersionOf is the number of a resourceVersion. Those of one resource grow with every
// change of any object. What is no number is 0: nothing is known to be as new as that.
func VersionOf(resourceVersion string) uint64 {
	n, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// SavedOf reads a snapshot; false while it takes no room. Its owner is what the
// controller wrote on it, that of the Workspace.
func SavedOf(s *api.WorkspaceSnapshot) (Claim, bool) {
	c := Claim{
		Saved: true, UID: string(s.UID), Namespace: s.Namespace, Name: s.Name,
		Owner: Owner{Project: s.Annotations[api.ProjectAnnotation], User: s.Annotations[api.UserAnnotation]},
		Bytes: max(0, s.Status.Bytes), Version: VersionOf(s.ResourceVersion),
	}
	return c, s.Status.Phase == api.SnapshotSaved && c.Bytes > 0
}

// slotID is what at most one claim has at a time, and what people call it.
func (c Claim) slotID() string {
	if c.Saved {
		return c.Namespace + "/WorkspaceSnapshot/" + c.Name
	}
	return c.Namespace + "/" + c.Name
}
