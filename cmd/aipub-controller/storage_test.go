// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	quotakube "aipub.io/aipub/quota/kube"
	"aipub.io/aipub/quota/storage"
)

const gi = int64(1) << 30

// volume is a claim of a number of GiB in a class; "" leaves the class out.
func volume(namespace, name, class string, size int64) *corev1.PersistentVolumeClaim {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: sized(size)},
	}}
	if class != "" {
		pvc.Spec.StorageClassName = &class
	}
	return pvc
}

func sized(size int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(size*gi, resource.BinarySI)}
}

// storageClass is one whose volumes can grow.
func storageClass(name string) *storagev1.StorageClass {
	grow := true
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "none", AllowVolumeExpansion: &grow}
}

func storageQuota(t *testing.T, name, spec string) *v1alpha1.StorageQuota {
	t.Helper()
	q := convert[v1alpha1.StorageQuota](t, "spec:\n  "+strings.ReplaceAll(spec, "\n", "\n  "))
	q.Name = name
	return q
}

// reservations reads the record that the replicas share.
func (c *cluster) reservations(t *testing.T) storage.Record {
	t.Helper()
	record, _, err := quotakube.NewStorageRecord(c.Client, v1alpha1.SystemNamespace).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// expectStorage waits for what a quota shows: GiB used and in reserve, volumes, users
// and whether it is exceeded.
func (c *cluster) expectStorage(t *testing.T, name, want string) {
	t.Helper()
	eventually(t, "quota "+name+" to show "+want, func() error {
		var q v1alpha1.StorageQuota
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, &q); err != nil {
			return err
		}
		var users []string
		for _, u := range q.Status.Users {
			users = append(users, fmt.Sprintf("%s %s", u.User, inGi(u.Used.Total)))
		}
		got := fmt.Sprintf("%s + %s in %d: %s", inGi(q.Status.Used.Total), inGi(q.Status.Reserved.Total), q.Status.Used.Volumes, strings.Join(users, ", "))
		if meta.IsStatusConditionTrue(q.Status.Conditions, v1alpha1.ConditionOverQuota) {
			got += " over"
		}
		if got != want {
			return fmt.Errorf("it shows %s", got)
		}
		return nil
	})
}

func inGi(q *resource.Quantity) string {
	if q == nil {
		return "0"
	}
	return fmt.Sprint(q.Value() / gi)
}

// TestStorage claims storage as people do, on one kube-apiserver with all of the
// chart's webhooks and policies. The parts build on each other.
func TestStorage(t *testing.T) {
	c := startCluster(t)
	c.letTenantsIn(t)
	c.mustCreate(t, namespace("team", map[string]string{v1alpha1.ProjectLabel: "vision"}))
	c.mustCreate(t, namespace("team2", map[string]string{v1alpha1.ProjectLabel: "vision"}))
	c.mustCreate(t, namespace("plain", nil))
	for _, name := range []string{"fast", "slow"} {
		c.mustCreate(t, storageClass(name))
	}
	c.mustCreate(t, storageQuota(t, "vision", "scope: {project: vision}\nlimits: {total: 100Gi, perStorageClass: {fast: 60Gi}}"))
	c.mustCreate(t, storageQuota(t, "each", "scope: {project: vision, eachUser: true}\nlimits: {total: 50Gi, volumes: 4}"))
	c.awaitPolicies(t)
	c.expectStorage(t, "vision", "0 + 0 in 0: ")
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"what fits is kept room for, what does not is refused in line", testStorageLimits},
		{"dry runs and duplicates keep no room", testStorageUnused},
		{"a volume grows within the quota", testStorageGrows},
		{"what a controller claims is its owner's", testStorageOwners},
		{"a class that comes later is judged", testStorageClassLater},
		{"a lowered quota takes nothing away", testStorageLowered},
		{"what is not managed is not counted", testStorageUnmanaged},
		{"an amount that cannot be read is not stored", testStorageAmounts},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return
		}
	}
}

func testStorageLimits(t *testing.T, c *cluster) {
	c.create(t, "bob", volume("team2", "b1", "slow", 10))
	data := volume("team", "data", "fast", 40)
	c.create(t, "alice", data)
	r, found := func() (storage.Reservation, bool) { record := c.reservations(t); return record.Find(string(data.UID)) }()
	if !found || r.Claim.Owner != (storage.Owner{Project: "vision", User: "alice"}) || r.Claim.Bytes != 40*gi || r.Claim.Class != "fast" {
		t.Errorf("reservation %+v (found: %v), want alice's 40Gi of fast under the claim's uid %s", r, found, data.UID)
	}
	c.refuse(t, "alice", volume("team", "more", "slow", 11),
		`spec.resources.requests.storage: "11Gi" does not fit: alice has claimed 40Gi of 50Gi in project vision (quota each): team/data 40Gi`,
		"Ask for 10Gi or less", "delete claims of yours")
	c.refuse(t, "bob", volume("team2", "more", "fast", 21),
		"project vision has claimed 40Gi of 60Gi of StorageClass fast (quota vision)", "Ask for 20Gi or less", "take another StorageClass")
	eventually(t, "a name of the same namespace", func() error {
		err := c.as(t, "carol").Create(t.Context(), volume("team", "more", "fast", 21))
		if err == nil || !strings.Contains(err.Error(), "): alice 40Gi.") {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
	c.expectStorage(t, "vision", "50 + 0 in 2: alice 40, bob 10")
	generated := volume("team", "", "slow", 5)
	generated.GenerateName = "tmp-"
	c.create(t, "alice", generated)
	c.expectStorage(t, "each", "55 + 0 in 3: alice 45, bob 10")
	if err := c.Delete(t.Context(), generated); err != nil {
		t.Fatal(err)
	}
	c.letGo(t, generated)
	c.expectStorage(t, "each", "50 + 0 in 2: alice 40, bob 10")
}

// letGo does what the controller that protects volumes in use does.
func (c *cluster) letGo(t *testing.T, pvc *corev1.PersistentVolumeClaim) {
	t.Helper()
	err := c.Patch(t.Context(), pvc.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

func testStorageUnused(t *testing.T, c *cluster) {
	before := len(c.reservations(t).Reservations)
	alice := c.as(t, "alice")
	for range 5 {
		if err := alice.Create(t.Context(), volume("team", "dry", "slow", 9), client.DryRunAll); err != nil {
			t.Fatalf("dry run of what fits: %v", err)
		}
		err := alice.Create(t.Context(), volume("team", "data", "slow", 9))
		if !apierrors.IsAlreadyExists(err) {
			t.Fatalf("a second claim of the name: %v, want that it exists", err)
		}
	}
	requireRefused(t, alice.Create(t.Context(), volume("team", "dry", "slow", 11), client.DryRunAll), "alice has claimed 40Gi of 50Gi")
	if after := len(c.reservations(t).Reservations); after != before {
		t.Errorf("%d reservations after, %d before", after, before)
	}
}

func testStorageGrows(t *testing.T, c *cluster) {
	data := volume("team", "data", "fast", 40)
	c.reread(t, data)
	data.Status.Phase, data.Status.Capacity = corev1.ClaimBound, sized(40)
	if err := c.Status().Update(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	grow := func(size int64, o ...client.PatchOption) error {
		patch := fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":"%dGi"}}}}`, size)
		return c.as(t, "alice").Patch(t.Context(), data.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), o...)
	}
	requireRefused(t, grow(51), `"51Gi" does not fit: alice has claimed 40Gi of 50Gi`)
	if err := grow(46, client.DryRunAll); err != nil {
		t.Fatalf("dry run: %v", err)
	}
	if err := grow(45); err != nil {
		t.Fatalf("grow to what fits: %v", err)
	}
	record := c.reservations(t)
	if r, found := record.Find(fmt.Sprintf("%s:%d", data.UID, 45*gi)); !found || r.Claim.Bytes != 45*gi {
		t.Errorf("no reservation of the growth: %+v", record.Reservations)
	}
	c.expectStorage(t, "each", "55 + 0 in 2: alice 45, bob 10")

	// The provisioner rounds up: what was given counts.
	c.reread(t, data)
	data.Status.Capacity = sized(48)
	if err := c.Status().Update(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	c.expectStorage(t, "each", "58 + 0 in 2: alice 48, bob 10")
	if err := grow(48); err != nil {
		t.Fatalf("grow to what it has: %v", err)
	}
	if got := len(c.reservations(t).Reservations); got != len(record.Reservations) {
		t.Errorf("%d reservations, want %d as before: nothing was added", got, len(record.Reservations))
	}
}

func testStorageOwners(t *testing.T, c *cluster) {
	pod := setPod("team", "scratch", "")
	pod.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: volume("", "", "slow", 30).Spec}}}}}
	c.create(t, "carol", pod)
	made := ownedBy(volume("team", "scratch-s", "slow", 30), "v1", "Pod", pod)
	c.create(t, kubeSystem+"ephemeral-volume-controller", made)
	c.expectStorage(t, "each", "88 + 0 in 3: alice 48, carol 30, bob 10")
	c.refuse(t, kubeSystem+"ephemeral-volume-controller", ownedBy(volume("team", "scratch-t", "slow", 21), "v1", "Pod", pod),
		"carol has claimed 30Gi of 50Gi in project vision (quota each)", "project vision has claimed 88Gi of 100Gi (quota vision)", "Ask for 12Gi or less")
}

// testStorageClassLater claims while there is no default class, and gives the claim a
// class afterwards, as the volume controller and everybody else may.
func testStorageClassLater(t *testing.T, c *cluster) {
	q := storageQuota(t, "dave", "scope: {user: dave}\nlimits: {perStorageClass: {fast: 5Gi}}")
	c.mustCreate(t, q)
	c.expectStorage(t, "dave", "0 + 0 in 0: ")
	pvc := volume("team", "classless", "", 10)
	c.create(t, "dave", pvc)
	c.expectStorage(t, "dave", "10 + 0 in 1: dave 10")
	requireRefused(t, c.merge(t, "dave", pvc, `{"spec":{"storageClassName":"fast"}}`), "dave may claim at most 5Gi in all of StorageClass fast (quota dave)")
	if err := c.merge(t, "dave", pvc, `{"spec":{"storageClassName":"slow"}}`); err != nil {
		t.Errorf("a class that is not limited: %v", err)
	}
	for _, object := range []client.Object{pvc, q} {
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	c.letGo(t, pvc)
	c.expectStorage(t, "each", "88 + 0 in 3: alice 48, carol 30, bob 10")
}

func testStorageLowered(t *testing.T, c *cluster) {
	var q v1alpha1.StorageQuota
	if err := c.Get(t.Context(), client.ObjectKey{Name: "vision"}, &q); err != nil {
		t.Fatal(err)
	}
	patch := []byte(`{"spec":{"limits":{"total":"50Gi"}}}`)
	if err := c.Patch(t.Context(), &q, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		t.Fatal(err)
	}
	c.expectStorage(t, "vision", "88 + 0 in 3: alice 48, carol 30, bob 10 over")
	c.refuse(t, "bob", volume("team2", "b2", "slow", 1), "project vision has claimed 88Gi of 50Gi (quota vision)")
	var all corev1.PersistentVolumeClaimList
	if err := c.List(t.Context(), &all, client.InNamespace("team")); err != nil || len(all.Items) != 2 {
		t.Errorf("%d claims are left in team (%v), want 2", len(all.Items), err)
	}
	if err := c.Delete(t.Context(), &q); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the quota to be out of force", func() error { return c.as(t, "bob").Create(t.Context(), volume("team2", "b2", "slow", 1)) })
}

func testStorageUnmanaged(t *testing.T, c *cluster) {
	c.create(t, "alice", volume("plain", "huge", "fast", 5000))
	c.expectStorage(t, "each", "89 + 0 in 4: alice 48, carol 30, bob 11")
	// A namespace that joins brings what it has: to the project, and to nobody.
	c.mustCreate(t, storageQuota(t, "nlp", "scope: {project: nlp}\nlimits: {total: 1Ti}"))
	var plain corev1.Namespace
	if err := c.Get(t.Context(), client.ObjectKey{Name: "plain"}, &plain); err != nil {
		t.Fatal(err)
	}
	plain.Labels[v1alpha1.ProjectLabel] = "nlp"
	if err := c.Update(t.Context(), &plain); err != nil {
		t.Fatal(err)
	}
	c.expectStorage(t, "nlp", "5000 + 0 in 1:  5000 over")
	c.refuse(t, "alice", volume("plain", "more", "fast", 1), "project nlp has claimed 4.88Ti of 1Ti (quota nlp): nobody known 4.88Ti")
	delete(plain.Labels, v1alpha1.ProjectLabel)
	if err := c.Update(t.Context(), &plain); err != nil {
		t.Fatal(err)
	}
	c.expectStorage(t, "nlp", "0 + 0 in 0: ")
}

// testStorageAmounts: one such quota, once stored, would keep all others from being
// read.
func testStorageAmounts(t *testing.T, c *cluster) {
	for _, tc := range []struct{ amount, what string }{
		{"1e99999999999999999999", "spec.limits.perStorageClass[slow]: 1e99999999999999999999 is no amount; write 0 or more, such as 500Gi"},
		{"-1Gi", "spec.limits.perStorageClass[slow]: -1Gi is no amount"},
	} {
		q := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"scope":  map[string]any{"project": "vision"},
			"limits": map[string]any{"perStorageClass": map[string]any{"fast": int64(5), "slow": tc.amount}},
		}}}
		q.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("StorageQuota"))
		q.SetName("unreadable")
		requireRefused(t, c.Create(t.Context(), q), tc.what)
	}
}
