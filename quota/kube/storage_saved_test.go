// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
)

func snapshotOf(uid string, version int, phase api.SnapshotPhase, gib int64) *api.WorkspaceSnapshot {
	return &api.WorkspaceSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			UID: types.UID(uid), Namespace: "team", Name: uid, ResourceVersion: fmt.Sprint(version),
			Annotations: map[string]string{api.UserAnnotation: "bob", api.ProjectAnnotation: "vision"},
		},
		Status: api.WorkspaceSnapshotStatus{Phase: phase, Bytes: gib << 30},
	}
}

func TestWhatIsSavedOfWorkspacesCounts(t *testing.T) {
	w := newClaimWatch()
	s := claimStore{w}
	must(t, s.Replace([]any{pvc("home", "team", 5, "1Gi", true)}, "10"))
	w.setSnapshot(snapshotOf("a", 11, api.SnapshotSaving, 4))
	requireUsed(t, w, 1, 1)
	w.setSnapshot(snapshotOf("a", 12, api.SnapshotSaved, 4))
	// It is no volume, and of no class.
	requireUsed(t, w, 5, 1)
	status := w.book.Status("vision")
	if len(status.Used.PerStorageClass) != 0 || len(status.Users) != 2 || status.Users[0].User != "bob" || status.Users[0].Used.Volumes != 0 {
		t.Errorf("status %+v", status)
	}
	// A list of volume claims says nothing of it.
	w.replace([]corev1.PersistentVolumeClaim{*pvc("home", "team", 5, "1Gi", true)}, 20)
	requireUsed(t, w, 5, 1)
	// Never refused, it may lead above the limit.
	w.setSnapshot(snapshotOf("b", 21, api.SnapshotSaved, 2000))
	if over := w.book.Over("vision"); len(over) != 1 {
		t.Errorf("over %+v, want the total", over)
	}
	w.dropSnapshot(snapshotOf("b", 22, api.SnapshotSaved, 2000))
	w.setNamespace(labelled("team", ""))
	requireUsed(t, w, 0, 0)
	w.setNamespace(labelled("team", "vision"))
	requireUsed(t, w, 5, 1)
	w.setSnapshot(snapshotOf("a", 23, api.SnapshotFailed, 4))
	requireUsed(t, w, 1, 1)
	if users := w.book.Status("vision").Users; len(users) != 1 {
		t.Errorf("users %+v, want who has something alone", users)
	}
}
