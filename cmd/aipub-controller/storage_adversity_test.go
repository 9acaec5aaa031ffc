// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/api/v1alpha1"
	quotakube "aipub.io/aipub/quota/kube"
	"aipub.io/aipub/quota/storage"
)

// TestStorageUnderAdversity has claims race at the edge of quotas, over two replicas.
// The parts share an API server, each in a project of its own.
func TestStorageUnderAdversity(t *testing.T) {
	r := startReplicas(t, 2)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *replicas)
	}{
		{"300 at once, with conflicts, duplicates and denials by others", testStorageStorm},
		{"answers are lost and late", testStorageStalls},
		{"a replica that hears nothing asks", testStorageDeaf},
		{"volumes grow at once", testStorageGrowth},
		{"a new replica and a new leader know everything", testStorageRestart},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, r) }) {
			return
		}
	}
}

// storm is who claims what, where at most how much may be.
type storm struct {
	project, user, namespace string
	attempts                 int
}

func testStorageStorm(t *testing.T, r *replicas) {
	for ns, project := range map[string]string{"v1": "vision", "v2": "vision", "n1": "nlp", "vz": "vision"} {
		r.mustCreate(t, namespace(ns, map[string]string{v1alpha1.ProjectLabel: project}))
	}
	r.limit(t, storageQuota(t, "vision", "scope: {project: vision}\nlimits: {total: 100Gi}"), storage.Owner{Project: "vision", User: "x"})
	r.limit(t, storageQuota(t, "nlp", "scope: {project: nlp}\nlimits: {total: 60Gi, volumes: 15}"), storage.Owner{Project: "nlp", User: "x"})
	r.limit(t, storageQuota(t, "each", "scope: {project: vision, eachUser: true}\nlimits: {total: 45Gi}"), storage.Owner{Project: "vision", User: "x"})
	r.limit(t, storageQuota(t, "alice", "scope: {user: alice}\nlimits: {total: 55Gi}"), storage.Owner{Project: "any", User: "alice"})
	denyAll(t, r, "vision", "vz")

	watched := r.sample(t, map[string]sampled{
		"vision":        {100, ofProject("vision")},
		"nlp":           {60, ofProject("nlp")},
		"alice":         {55, func(c storage.Claim) bool { return c.Owner.User == "alice" }},
		"bob in vision": {45, func(c storage.Claim) bool { return c.Owner == storage.Owner{Project: "vision", User: "bob"} }},
	})
	disturb := r.disturb(t)
	var made, refused, existed, denied atomic.Int64
	claim := func(s storm, i int) {
		// Most names are taken twice.
		name := fmt.Sprintf("%s-%d", s.user, i%(s.attempts/2+1))
		size := 1 + rand.Int64N(5)
		err := insist(func() error { return r.Create(t.Context(), volumeOf(s.project, s.user, s.namespace, name, size)) })
		switch {
		case err == nil:
			made.Add(1)
		case apierrors.IsAlreadyExists(err):
			existed.Add(1)
		case apierrors.IsForbidden(err):
			denied.Add(1)
		case apierrors.IsInvalid(err):
			refused.Add(1)
		default:
			t.Errorf("%s: %v", name, err)
		}
	}
	// In waves: after each, the leader ends what was seen for a minute.
	const waves = 3
	for wave := range waves {
		var wg sync.WaitGroup
		for _, s := range []storm{
			{"vision", "alice", "v1", 60}, {"vision", "bob", "v2", 60}, {"vision", "carol", "v1", 50},
			{"nlp", "alice", "n1", 50}, {"nlp", "bob", "n1", 50}, {"vision", "carol", "vz", 30},
		} {
			for i := wave; i < s.attempts; i += waves {
				wg.Go(func() { claim(s, i) })
			}
		}
		wg.Wait()
		r.all[0].round(t)
		r.clock.Step(storage.Confirm)
		r.all[0].round(t)
	}
	disturb()
	watched()
	t.Logf("made %d, refused %d, existed %d, denied by others %d", made.Load(), refused.Load(), existed.Load(), denied.Load())
	if made.Load() == 0 || refused.Load() == 0 || existed.Load() == 0 || denied.Load() == 0 {
		t.Error("the storm did not meet all that it is for")
	}
	r.requireNothingLeaks(t, r.all[0], "vision", "vision")
	r.requireFilled(t, "vision", "dan", "v1", 45, 100)
}

// requireFilled claims what a project has left, to the last GiB and no more, as
// somebody who has nothing yet.
func (r *replicas) requireFilled(t *testing.T, project, user, ns string, most, limit int64) {
	t.Helper()
	exists, err := r.heldBy(t.Context(), ofProject(project))
	if err != nil {
		t.Fatal(err)
	}
	left := min(limit-exists/gi, most)
	if left < limit-exists/gi {
		t.Fatalf("%d GiB of %d are used: too little to be the edge", exists/gi, limit)
	}
	requireRefused(t, r.Create(t.Context(), volumeOf(project, user, ns, "rest", left+1)), "project "+project)
	if left > 0 {
		if err := r.Create(t.Context(), volumeOf(project, user, ns, "rest", left)); err != nil {
			t.Errorf("the last %d GiB are not to be had: %v", left, err)
		}
	}
}

// denyAll has Kubernetes' own quota, which judges after all webhooks, refuse every
// claim in a namespace. Its controller does not run here, so the test writes the status.
func denyAll(t *testing.T, r *replicas, project, ns string) {
	t.Helper()
	none := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	r.mustCreate(t, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := r.Status().Update(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API server to know its quota", func() error {
		err := r.Create(t.Context(), volumeOf(project, "prober", ns, "probe", 1), client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

// sampled is what may never be more than most GiB.
type sampled struct {
	most   int64
	counts func(storage.Claim) bool
}

// sample looks at what exists all the time, until it is told to end.
func (r *replicas) sample(t *testing.T, limits map[string]sampled) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	looks, done := 0, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for name, s := range limits {
				held, err := r.heldBy(ctx, s.counts)
				if err == nil && held > s.most*gi {
					t.Errorf("%s holds %d GiB of %d", name, held/gi, s.most)
				}
			}
			looks++
		}
	}()
	return func() {
		cancel()
		<-done
		if looks < 2 {
			t.Errorf("looked %d times only", looks)
		}
	}
}

// disturb has somebody else write the record's ConfigMap all the time, so that
// replicas meet conflicts beyond their own.
func (r *replicas) disturb(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: quotakube.ReservationsName}}
		for i := 0; ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/turn":"%d"}}}`, i)
			_ = r.Patch(ctx, object, client.RawPatch("application/merge-patch+json", patch))
			select {
			case <-ctx.Done():
			case <-time.After(15 * time.Millisecond):
			}
		}
	}()
	return func() { cancel(); <-done }
}

// testStorageStalls lets writes of the record arrive, and has their answers come late or
// never. Who gets no answer in time is refused; nothing is let in that was not kept
// room for.
func testStorageStalls(t *testing.T, r *replicas) {
	r.mustCreate(t, namespace("s1", map[string]string{v1alpha1.ProjectLabel: "speech"}))
	r.limit(t, storageQuota(t, "speech", "scope: {project: speech}\nlimits: {total: 20Gi}"), storage.Owner{Project: "speech", User: "x"})
	watched := r.sample(t, map[string]sampled{"speech": {20, ofProject("speech")}})
	var writes atomic.Int64
	lossy := func() error {
		switch n := writes.Add(1); {
		case n%3 == 0:
			return errors.New("the connection broke")
		case n%7 == 0:
			time.Sleep(4 * time.Second)
		}
		return nil
	}
	for _, one := range r.all {
		one.wire.after.Store(&lossy)
	}
	var made, late atomic.Int64
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			err := r.Create(t.Context(), volumeOf("speech", "erin", "s1", fmt.Sprintf("c%d", i), 1))
			switch {
			case err == nil:
				made.Add(1)
			case apierrors.IsServiceUnavailable(err):
				late.Add(1)
			}
		})
	}
	wg.Wait()
	for _, one := range r.all {
		one.wire.after.Store(nil)
	}
	watched()
	t.Logf("made %d, late %d, of %d writes", made.Load(), late.Load(), writes.Load())
	if made.Load() == 0 || late.Load() == 0 || made.Load() > 20 {
		t.Errorf("made %d, want some and at most 20; refused for want of an answer %d, want some", made.Load(), late.Load())
	}
	r.requireNothingLeaks(t, r.all[1], "speech", "speech")
	r.requireFilled(t, "speech", "dan", "s1", 20, 20)
}

// testStorageDeaf has one replica hear nothing of claims any more, while the other's
// claims are seen by the leader and their reservations end.
func testStorageDeaf(t *testing.T, r *replicas) {
	r.mustCreate(t, namespace("d1", map[string]string{v1alpha1.ProjectLabel: "deaf"}))
	r.limit(t, storageQuota(t, "deaf", "scope: {project: deaf}\nlimits: {total: 10Gi}"), storage.Owner{Project: "deaf", User: "x"})
	hears, deaf := r.all[0], r.all[1]
	gate := make(chan struct{})
	deaf.wire.deaf.Store(&gate)
	defer func() { deaf.wire.deaf.Store(nil); close(gate) }()
	r.only.Store(hears)
	defer r.only.Store(nil)
	for i := range 10 {
		if err := r.Create(t.Context(), volumeOf("deaf", "erin", "d1", fmt.Sprintf("c%d", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the reservations to end", func() error {
		hears.round(t)
		r.clock.Step(storage.Confirm)
		if n := len(r.left(t).Reservations); n > 0 {
			return fmt.Errorf("%d are left", n)
		}
		return nil
	})
	seen := r.left(t).Seen
	if deaf.watch.Covers(seen) {
		t.Fatalf("the replica that should hear nothing knows version %d", seen)
	}
	lists := deaf.wire.lists.Load()
	r.only.Store(deaf)
	requireRefused(t, r.Create(t.Context(), volumeOf("deaf", "bob", "d1", "more", 1)), "project deaf has claimed 10Gi of 10Gi")
	if deaf.wire.lists.Load() == lists {
		t.Error("it did not ask the API server")
	}
	// What was deleted meanwhile is free for it as well, once a reservation says that it
	// has to know more; until then it errs on the safe side.
	requireRefused(t, r.Create(t.Context(), volumeOf("deaf", "bob", "d1", "more", 1)), "project deaf")
}

// testStorageGrowth has many volumes grow at once, each several times.
func testStorageGrowth(t *testing.T, r *replicas) {
	r.mustCreate(t, storageClass("elastic"))
	r.mustCreate(t, namespace("g1", map[string]string{v1alpha1.ProjectLabel: "growth"}))
	r.limit(t, storageQuota(t, "growth", "scope: {project: growth}\nlimits: {total: 50Gi}"), storage.Owner{Project: "growth", User: "x"})
	for i := range 10 {
		pvc := volumeOf("growth", "erin", "g1", fmt.Sprintf("c%d", i), 1)
		class := "elastic"
		pvc.Spec.StorageClassName = &class
		r.mustCreate(t, pvc)
		pvc.Status.Phase, pvc.Status.Capacity = corev1.ClaimBound, sized(1)
		if err := r.Status().Update(t.Context(), pvc); err != nil {
			t.Fatal(err)
		}
	}
	watched := r.sample(t, map[string]sampled{"growth": {50, ofProject("growth")}})
	var grown, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			pvc := volumeOf("growth", "erin", "g1", fmt.Sprintf("c%d", i%10), 1)
			patch := fmt.Appendf(nil, `{"spec":{"resources":{"requests":{"storage":"%dGi"}}}}`, 2+i/10)
			switch err := insist(func() error { return r.Patch(t.Context(), pvc, client.RawPatch("application/merge-patch+json", patch)) }); {
			case err == nil:
				grown.Add(1)
			case apierrors.IsInvalid(err):
				refused.Add(1)
			default:
				t.Errorf("grow: %v", err)
			}
		})
	}
	wg.Wait()
	watched()
	t.Logf("grown %d times, refused %d times", grown.Load(), refused.Load())
	if grown.Load() < 10 || refused.Load() == 0 {
		t.Error("the volumes did not meet the limit")
	}
	r.requireNothingLeaks(t, r.all[0], "growth", "growth")
	r.requireFilled(t, "growth", "dan", "g1", 50, 50)
}

// testStorageRestart stops the one that knows, between reservation and claim.
func testStorageRestart(t *testing.T, r *replicas) {
	r.mustCreate(t, namespace("r1", map[string]string{v1alpha1.ProjectLabel: "restart"}))
	r.limit(t, storageQuota(t, "restart", "scope: {project: restart}\nlimits: {total: 10Gi}"), storage.Owner{Project: "restart", User: "x"})
	r.mustCreate(t, volumeOf("restart", "erin", "r1", "exists", 4))
	// Reserved, and denied by others afterwards.
	r.mustCreate(t, namespace("r2", map[string]string{v1alpha1.ProjectLabel: "restart"}))
	denyAll(t, r, "restart", "r2")
	if err := r.Create(t.Context(), volumeOf("restart", "bob", "r2", "denied", 5)); !apierrors.IsForbidden(err) {
		t.Fatalf("got %v, want a denial by Kubernetes' quota", err)
	}
	for _, one := range r.all {
		one.stop()
	}
	r.mu.Lock()
	r.all = nil
	r.mu.Unlock()
	fresh := r.add(t)
	r.only.Store(nil)
	requireRefused(t, r.Create(t.Context(), volumeOf("restart", "carol", "r1", "more", 2)),
		"project restart has claimed 4Gi of 10Gi, and 5Gi more a moment ago", "Ask for 1Gi or less")
	r.requireNothingLeaks(t, fresh, "restart", "restart")
	if err := r.Create(t.Context(), volumeOf("restart", "carol", "r1", "more", 6)); err != nil {
		t.Errorf("what was never claimed is not free again: %v", err)
	}
}
