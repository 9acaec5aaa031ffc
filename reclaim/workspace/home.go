// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	api "aipub.io/aipub/api/v1alpha1"
)

// home is the claim to make for a Workspace; nil where it has no home. It is made as
// the Workspace's, so that admission knows whose it is, and released at once; see
// [keptHome].
func home(w *api.Workspace) *corev1.PersistentVolumeClaim {
	if w.Spec.Home == nil {
		return nil
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: owned(w, ClaimName(w)),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: w.Spec.Home.StorageClassName,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: w.Spec.Home.Size}},
		},
	}
}

// keptHome is what a claim that exists should become: larger where the Workspace asks
// for more, and without an owner, so that nothing but [leftHome] has it deleted. It is
// nil when nothing is to change. A claim that another made stays its own.
func keptHome(w *api.Workspace, claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	out := claim.DeepCopy()
	if has := out.Spec.Resources.Requests[corev1.ResourceStorage]; has.Cmp(w.Spec.Home.Size) < 0 {
		out.Spec.Resources.Requests[corev1.ResourceStorage] = w.Spec.Home.Size
	}
	if claim.Labels[api.WorkspaceLabel] == w.Name {
		out.OwnerReferences = nil
	}
	if equality.Semantic.DeepEqual(out, claim) {
		return nil
	}
	return out
}

// leftHome is what the claim of a Workspace that is being deleted should become: the
// Workspace's, with which it goes, or without an owner where it is kept. It is nil when
// nothing is to change.
func leftHome(w *api.Workspace, claim *corev1.PersistentVolumeClaim, keep bool) *corev1.PersistentVolumeClaim {
	if claim.Labels[api.WorkspaceLabel] != w.Name || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	out := claim.DeepCopy()
	out.OwnerReferences = nil
	if !keep {
		out.OwnerReferences = owned(w, "").OwnerReferences
	}
	if equality.Semantic.DeepEqual(out, claim) {
		return nil
	}
	return out
}

// service is how a Workspace is reached; nil where it has no ports.
func service(w *api.Workspace) *corev1.Service {
	if len(w.Spec.Ports) == 0 {
		return nil
	}
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: owned(w, w.Name),
		Spec:       corev1.ServiceSpec{Selector: labels(w)},
	}
	for _, p := range w.Spec.Ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: p.Name, Port: p.Port, TargetPort: intstr.FromString(p.Name), Protocol: corev1.ProtocolTCP})
	}
	return s
}
