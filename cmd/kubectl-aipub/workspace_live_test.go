// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
)

func (l *live) workspace(name string) *api.Workspace {
	l.t.Helper()
	w := &api.Workspace{}
	if err := l.Get(context.Background(), types.NamespacedName{Namespace: "demo", Name: name}, w); err != nil {
		l.t.Fatal(err)
	}
	return w
}

// become writes a Workspace's status, as its controller does.
func (l *live) become(name string, change func(*api.WorkspaceStatus)) {
	l.t.Helper()
	w := l.workspace(name)
	w.Status.ObservedGeneration = w.Generation
	change(&w.Status)
	if err := l.Status().Update(context.Background(), w); err != nil {
		l.t.Fatal(err)
	}
}

// TestWorkspacesOnARealAPIServer goes through a Workspace's life, with the CRDs as they
// are installed, in a cluster without Kubeflow.
func TestWorkspacesOnARealAPIServer(t *testing.T) {
	l := startLive(t)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo", Labels: map[string]string{api.ProjectLabel: "demo"}}},
		&api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "day"}, Spec: api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 24, MaxExtensionHours: 8}})
	admin := l.as("admin", "system:masters")
	create := "workspace create kim -n demo --set small --image jupyter/pytorch-notebook --home 50Gi --port 8888 --volume data:/data:ro --shm 8Gi --fs-group 100"
	wantAll(t, typed(t, admin, create+" --dry-run=server"), "workspace demo/kim created (server dry run: nothing was changed)")
	wantAll(t, typed(t, admin, create), "workspace demo/kim created\n", "Home:           50Gi at /home/user, claim home-kim\n")
	wantAll(t, typed(t, admin, "workspace create kim -n dem --set small --image x"), "error: there is no namespace \"dem\"; choose one with -n, or make it: kubectl create namespace dem\n")
	wantAll(t, typed(t, admin, create), "error: there is a workspace demo/kim already; choose another name, or look at it: kubectl aipub workspace show kim -n demo\n")
	wantAll(t, typed(t, admin, "workspace create two -n demo --set small --image a --count 5000"), "error: workspace demo/two was not created: ", "spec.count", "exit status 1")
	wantAll(t, typed(t, admin, "workspace list -n demo"), "kim    -      small   -       ")

	l.become("kim", func(s *api.WorkspaceStatus) {
		s.Phase, s.Node, s.Occupancy = api.PhaseRunning, "gpu-01", occupancy(20, 4, api.SignalUnknown)
	})
	wantAll(t, typed(t, admin, "workspace show kim -n demo"), "Running on node gpu-01", "24h at most (day), its user may add 8h (day)", "2026-03-02 13:30Z (in 4h): OccupancyLimit (day)", "unknown\n")
	wantAll(t, typed(t, admin, "workspace extend kim -n demo --for 8h"), "until 2026-03-02 13:30Z -> 2026-03-02 21:30Z", "8h added in all, of 8h")
	wantAll(t, typed(t, admin, "workspace extend kim -n demo --for 1h --dry-run=server"), "9h added in all, of 8h that its user may add (day) (server dry run: nothing was changed)\n")
	wantAll(t, typed(t, admin, "workspace pause kim -n demo"), "workspace demo/kim is being paused; kept: its volumes\n")
	wantAll(t, typed(t, admin, "workspace pause kim -n demo"), "workspace demo/kim is being paused already\n")
	if w := l.workspace("kim"); !w.Spec.Paused || w.Annotations[api.ExtendAnnotation] != "8h" {
		t.Errorf("paused is %v, annotations are %v", w.Spec.Paused, w.Annotations)
	}
	l.become("kim", func(s *api.WorkspaceStatus) {
		s.Phase, s.Pause = api.PhasePaused, &api.Pause{At: *hoursAgo(1), Reason: api.ReasonRequested}
	})
	wantAll(t, typed(t, admin, "workspace pause kim -n demo"), "workspace demo/kim is paused already, since 2026-03-02 08:30Z: Requested\n")
	wantAll(t, typed(t, admin, "workspace logs kim -n demo"), "error: workspace demo/kim is paused, so it has no container")
	wantAll(t, typed(t, admin, "workspace resume kim -n demo"), "workspace demo/kim starts again, from image jupyter/pytorch-notebook\n")
	if l.workspace("kim").Spec.Paused {
		t.Error("it is paused still")
	}
	l.othersSee(t)
	l.homeWithoutVolume(t, admin)
}

// homeWithoutVolume: the scheduler says only that a volume is missing, the claim's
// controller says why.
func (l *live) homeWithoutVolume(t *testing.T, admin string) {
	t.Helper()
	typed(t, admin, "workspace create homeless -n demo --set small --image a --home 1Gi:fsat")
	l.become("homeless", func(s *api.WorkspaceStatus) { s.Phase, s.Reason = api.PhaseQueued, "Unschedulable" })
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "home-homeless"}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	l.create(claim)
	wantAll(t, typed(t, admin, "workspace show homeless -n demo"), "note: its home, claim home-homeless, has no volume yet\n")
	l.create(&corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "demo", Name: "homeless.1"},
		InvolvedObject: corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "demo", Name: claim.Name, UID: claim.UID},
		Reason:         "ProvisioningFailed", Message: `storageclass.storage.k8s.io "fsat" not found`,
	})
	wantAll(t, typed(t, admin, "workspace show homeless -n demo"), `note: its home, claim home-homeless, has no volume yet: storageclass.storage.k8s.io "fsat" not found`)
}

// othersSee is what those see who may read Workspaces only, or nothing.
func (l *live) othersSee(t *testing.T) {
	t.Helper()
	l.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "look"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"aipub.io"}, Resources: []string{"workspaces"}, Verbs: []string{"get", "list"}}}}, binding("look", "guest"))
	guest, got := l.as("guest"), ""
	for range 200 { // until the API server has seen the binding
		if got = typed(t, guest, "workspace list -n demo"); !strings.Contains(got, "error:") {
			break
		}
	}
	wantAll(t, got, "kim    -      small   ", "note: some of what follows is incomplete: you are not allowed to list deployments.apps")
	if strings.Contains(got, "notebooks") {
		t.Errorf("in a cluster without Kubeflow a right to its Notebooks is asked for:\n%s", got)
	}
	wantAll(t, typed(t, guest, "workspace show kim -n demo"), "Rules:          not known\n", "note: the rules that bind it are not known: you are not allowed to list reclaimpolicies.aipub.io")
	wantAll(t, typed(t, guest, "workspace pause kim -n demo"), "error: you are not allowed to patch on workspaces.aipub.io in namespace demo: ", "exit status 1")
	wantAll(t, typed(t, guest, "workspace create mine -n demo --set small --image a"), "error: you are not allowed to create on workspaces.aipub.io in namespace demo: ")
	nobody := l.as("nobody")
	wantAll(t, typed(t, nobody, "workspace list -n demo"), "error: you are not allowed to list workspaces.aipub.io: ", "exit status 1")
	wantAll(t, typed(t, nobody, "workspace show kim -n demo"), "error: you are not allowed to get on workspaces.aipub.io kim in namespace demo: ")
}

// TestWorkspaceExamplesAreValid has the API server take the examples of the documents,
// with no field that it does not know.
func TestWorkspaceExamplesAreValid(t *testing.T) {
	l := startLive(t)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}})
	paths, err := filepath.Glob("../../examples/workspace-*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples in ../../docs/examples (%v)", err)
	}
	strict := client.WithFieldValidation(l.Client, metav1.FieldValidationStrict)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &u.Object); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := strict.Create(context.Background(), u); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
