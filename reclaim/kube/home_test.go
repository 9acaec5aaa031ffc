// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim/workspace"
)

func (c *cluster) home(t *testing.T, name string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	eventually(t, "the home of "+name, func() error {
		return c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "home-" + name}, claim)
	})
	return claim
}

func (c *cluster) gone(t *testing.T, o client.Object) {
	t.Helper()
	eventually(t, o.GetName()+" is gone", func() error {
		err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		if err == nil {
			return errors.New("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}

// withHome is a Workspace that runs and has a home.
func (c *cluster) withHome(t *testing.T, name string) *api.Workspace {
	t.Helper()
	w := newWorkspace(name)
	w.Spec.Home = &api.WorkspaceHome{Size: resource.MustParse("1Gi")}
	c.create(t, w)
	c.phase(t, name, api.PhaseRunning)
	return c.workspace(t, name)
}

// TestAHomeGoesOrStaysAsTheSpecSaysWhenItIsDeleted changes and deletes Workspaces while
// no controller runs. There is no garbage collector here: who is named as the owner of a
// claim takes it along.
func TestAHomeGoesOrStaysAsTheSpecSaysWhenItIsDeleted(t *testing.T) {
	c := start(t)
	c.play(t)
	stop := c.control(t, nil)
	cases := map[string]struct {
		before func(*api.Workspace) // seen by a controller
		unseen func(*api.Workspace)
		orphan bool
		keeps  bool
	}{
		"goes":      {},
		"kept":      {before: func(w *api.Workspace) { w.Spec.Home.Keep = true }, keeps: true},
		"kept-late": {unseen: func(w *api.Workspace) { w.Spec.Home.Keep = true }, keeps: true},
		"not-kept-any-more": {before: func(w *api.Workspace) { w.Spec.Home.Keep = true },
			unseen: func(w *api.Workspace) { w.Spec.Home.Keep = false }},
		"left": {orphan: true, keeps: true},
	}
	live := map[string]*api.Workspace{}
	for name, tc := range cases {
		live[name] = c.withHome(t, name)
		if tc.before != nil {
			c.set(t, name, tc.before)
		}
		if got := c.home(t, name).OwnerReferences; len(got) > 0 {
			t.Errorf("%s: while it lives, its home is owned by %+v", name, got)
		}
	}
	stop()
	for name, tc := range cases {
		if tc.unseen != nil {
			c.set(t, name, tc.unseen)
		}
		if tc.orphan { // as the garbage collector leaves its parts to nobody
			s := &appsv1.StatefulSet{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(live[name]), s); err != nil {
				t.Fatal(err)
			}
			s.OwnerReferences = nil
			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Delete(t.Context(), live[name]); err != nil {
			t.Fatal(err)
		}
		if w := c.workspace(t, name); w.DeletionTimestamp == nil {
			t.Errorf("%s is not being deleted", name)
		}
	}
	defer c.control(t, nil)()
	for name, tc := range cases {
		uid := live[name].UID
		c.gone(t, live[name])
		claim := c.home(t, name)
		if owned := metav1.IsControlledBy(claim, live[name]); owned == tc.keeps || !owned && len(claim.OwnerReferences) > 0 {
			t.Errorf("%s (uid %s): its home is owned by %+v; kept: %t", name, uid, claim.OwnerReferences, tc.keeps)
		}
	}
}

func TestAKeptHomeIsTakenUpAgain(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	w := c.withHome(t, "lab")
	c.set(t, "lab", func(w *api.Workspace) { w.Spec.Home.Keep = true })
	first := c.home(t, "lab").UID
	if err := c.Delete(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	c.gone(t, w)
	meta := metav1.ObjectMeta{Namespace: team, Name: "lab"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "lab-0"}}
	for _, o := range []client.Object{&appsv1.StatefulSet{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta}, pod} { // as the garbage collector does
		if err := c.Delete(t.Context(), o, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		c.gone(t, o)
	}
	c.withHome(t, "lab")
	if got := c.home(t, "lab").UID; got != first {
		t.Errorf("it has the home %s, the kept one is %s", got, first)
	}
}

// TestWithoutAIPubNothingWaits deletes after all finalizers are taken off.
func TestWithoutAIPubNothingWaits(t *testing.T) {
	c := start(t)
	c.play(t)
	stop := c.control(t, nil)
	w := c.withHome(t, "lab")
	stop()
	s := &api.WorkspaceSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "lab-1-1", Finalizers: []string{api.SnapshotFinalizer, "example.com/other"}},
		Spec: api.WorkspaceSnapshotSpec{Workspace: "lab", Node: "n1", BaseImage: "notebook:1"}}
	c.create(t, s)
	if !controllerutil.ContainsFinalizer(w, api.HomeFinalizer) {
		t.Fatalf("it has the finalizers %v", w.Finalizers)
	}
	var progress bytes.Buffer
	for range 2 { // again is fine
		if err := workspace.ReleaseAll(t.Context(), c, &progress); err != nil {
			t.Fatal(err)
		}
	}
	if got := progress.String(); got != "released 2 Workspaces and WorkspaceSnapshots\n" {
		t.Errorf("it says %q", got)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || len(s.Finalizers) != 1 {
		t.Errorf("the snapshot has the finalizers %v (%v)", s.Finalizers, err)
	}
	if err := c.Delete(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(w), w); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	if claim := c.home(t, "lab"); len(claim.OwnerReferences) > 0 || claim.DeletionTimestamp != nil {
		t.Errorf("its home goes: %+v", claim.ObjectMeta)
	}
}

// meddled has somebody else write just before the first patch of each object, and refuses
// patches of one name.
type meddled struct {
	client.Client
	refuses string
	seen    map[string]bool
}

func (m *meddled) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if o.GetName() == m.refuses {
		return errors.New("refused by somebody's webhook")
	}
	if !m.seen[o.GetName()] {
		m.seen[o.GetName()] = true
		w := &api.Workspace{}
		if err := m.Get(ctx, client.ObjectKeyFromObject(o), w); err != nil {
			return err
		}
		controllerutil.AddFinalizer(w, "example.com/other")
		if err := m.Update(ctx, w); err != nil {
			return err
		}
	}
	return m.Client.Patch(ctx, o, patch, opts...)
}

func TestTheCleanUpKeepsOthersFinalizersAndGoesOnAfterAFailure(t *testing.T) {
	c := start(t)
	for i := range 4 {
		w := newWorkspace(name(i))
		w.Finalizers = []string{api.HomeFinalizer}
		c.create(t, w)
	}
	m := &meddled{Client: c, refuses: name(1), seen: map[string]bool{}}
	err := workspace.ReleaseAll(t.Context(), m, io.Discard)
	if err == nil || !strings.Contains(err.Error(), team+"/"+name(1)) {
		t.Errorf("it says %v, without %s", err, name(1))
	}
	for i := range 4 {
		want := []string{"example.com/other"}
		if name(i) == m.refuses {
			want = []string{api.HomeFinalizer}
		}
		if got := c.workspace(t, name(i)).Finalizers; !slices.Equal(got, want) {
			t.Errorf("%s has the finalizers %v, want %v", name(i), got, want)
		}
	}
}
