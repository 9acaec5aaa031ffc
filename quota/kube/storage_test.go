// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

// newClaimWatch is a watch without a cluster, of a project with a quota.
func newClaimWatch() *StorageWatch {
	w := &StorageWatch{
		book: storage.NewBook(nil), known: map[string]storage.Claim{}, saved: map[string]storage.Claim{}, namespaces: map[string]string{},
		quotas: map[string]api.StorageQuota{}, dirty: make(chan struct{}, 1), never: []string{"kube-system"},
	}
	total := resource.MustParse("1Ti")
	w.setQuota(&api.StorageQuota{ObjectMeta: metav1.ObjectMeta{Name: "vision", Generation: 1},
		Spec: api.StorageQuotaSpec{Scope: api.QuotaScope{Project: "vision"}, Limits: api.StorageLimits{Total: &total}}})
	w.setNamespace(labelled("team", "vision"))
	return w
}

func labelled(name, project string) *corev1.Namespace {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if project != "" {
		ns.Labels = map[string]string{api.ProjectLabel: project}
	}
	return ns
}

func pvc(uid, ns string, version int, size string, stamped bool) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: ns, Name: uid, ResourceVersion: fmt.Sprint(version)},
		Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}}},
	}
	if stamped {
		out.Annotations = map[string]string{api.UserAnnotation: "alice", api.ProjectAnnotation: "vision"}
	}
	return out
}

// requireUsed checks GiB and claims of the quota.
func requireUsed(t *testing.T, w *StorageWatch, gib int64, volumes int32) {
	t.Helper()
	status := w.book.Status("vision")
	used := int64(0)
	if status.Used.Total != nil {
		used = status.Used.Total.Value() >> 30
	}
	if used != gib || status.Used.Volumes != volumes {
		t.Fatalf("%d GiB in %d claims are used, want %d in %d", used, status.Used.Volumes, gib, volumes)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAListFromElsewhereFitsIn has lists of the API server come between what a
// watch says late.
func TestAListFromElsewhereFitsIn(t *testing.T) {
	w := newClaimWatch()
	s := claimStore{w}
	must(t, s.Replace([]any{pvc("a", "team", 5, "1Gi", true), pvc("b", "team", 6, "2Gi", true)}, "10"))
	requireUsed(t, w, 3, 2)

	// A list at 20: a is gone, b grew, c is new.
	list := []corev1.PersistentVolumeClaim{*pvc("b", "team", 15, "4Gi", true), *pvc("c", "team", 18, "8Gi", true)}
	w.replace(list, 20)
	requireUsed(t, w, 12, 2)
	if w.version != 20 {
		t.Fatalf("known up to %d, want 20", w.version)
	}
	// Then the watch tells what led there.
	must(t, s.Update(pvc("b", "team", 12, "3Gi", true)))
	requireUsed(t, w, 12, 2)
	must(t, s.Update(pvc("a", "team", 13, "16Gi", true)))
	must(t, s.Delete(pvc("a", "team", 14, "16Gi", true)))
	s.UpdateResourceVersion("14")
	must(t, s.Update(pvc("b", "team", 15, "4Gi", true)))
	must(t, s.Add(pvc("c", "team", 18, "8Gi", true)))
	requireUsed(t, w, 12, 2)
	if w.version != 20 {
		t.Fatalf("known up to %d, want 20 still", w.version)
	}
	// And further. A list that is older than that says nothing.
	must(t, s.Delete(pvc("c", "team", 30, "8Gi", true)))
	s.UpdateResourceVersion("30")
	w.replace(list, 25)
	requireUsed(t, w, 4, 1)
	if w.version != 30 {
		t.Fatalf("known up to %d, want 30", w.version)
	}
}

func TestWhichClaimsCount(t *testing.T) {
	w := newClaimWatch()
	s := claimStore{w}
	must(t, s.Add(pvc("stamped", "team", 1, "1Gi", true)))
	must(t, s.Add(pvc("older", "team", 2, "2Gi", false)))
	requireUsed(t, w, 3, 2)
	if users := w.book.Status("vision").Users; len(users) != 2 || users[0].User != "" {
		t.Errorf("users %+v, want nobody known first", users)
	}
	// Before its namespace is known, a stamp counts, and nothing else does.
	must(t, s.Add(pvc("early", "new", 3, "4Gi", true)))
	must(t, s.Add(pvc("unknown", "new", 4, "8Gi", false)))
	requireUsed(t, w, 7, 3)
	w.setNamespace(labelled("new", "vision"))
	requireUsed(t, w, 15, 4)
	w.setNamespace(labelled("new", ""))
	requireUsed(t, w, 3, 2)
	// What moved to another project keeps its stamp.
	w.setNamespace(labelled("team", "nlp"))
	requireUsed(t, w, 1, 1)
	must(t, s.Add(pvc("system", "kube-system", 5, "16Gi", true)))
	w.setNamespace(labelled("kube-system", "vision"))
	requireUsed(t, w, 1, 1)
}
