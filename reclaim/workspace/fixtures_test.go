// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	api "aipub.io/aipub/api/v1alpha1"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// lab is a Workspace that saves its file system.
func lab() *api.Workspace {
	return &api.Workspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "lab", UID: "lab-uid", Generation: 1, Annotations: map[string]string{
			api.UserAnnotation: "alice", api.ProjectAnnotation: "vision",
		}},
		Spec: api.WorkspaceSpec{Set: "small", Count: 1, Image: "notebook:1", Save: api.SaveCommit, StopSeconds: ptr.To(int64(30))},
	}
}

// running is a Workspace whose container runs on node n1.
func running(w *api.Workspace) Seen {
	r := runner(w, 1)
	r.UID, r.Generation, r.Status.ObservedGeneration, r.Status.Replicas = "runner-uid", 1, 1, 1
	return Seen{Workspace: w, Runner: r, Pod: podOf(r, "pod-1"), Now: start}
}

func podOf(r *appsv1.StatefulSet, uid types.UID) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name + "-0", UID: uid, Annotations: r.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: r.Name, UID: r.UID, Controller: ptr.To(true)}}},
		Spec: corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{Name: containerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
}
