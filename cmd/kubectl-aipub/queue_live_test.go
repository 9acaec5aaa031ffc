// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	api "aipub.io/aipub/api/v1alpha1"
)

// live is a real kube-apiserver.
type live struct {
	client.Client
	t   *testing.T
	env *envtest.Environment
}

func startLive(t *testing.T) *live {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set: no kube-apiserver to change the order on; `make unit` builds one and sets it")
	}
	ctrllog.SetLogger(logr.Discard())
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../charts/aipub/files/crds"}, ErrorIfCRDPathMissing: true}
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop kube-apiserver: %v", err)
		}
	})
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, env: env}
	if l.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *live) create(objects ...client.Object) {
	l.t.Helper()
	for _, o := range objects {
		if err := l.Create(context.Background(), o); err != nil {
			l.t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// as is a kubeconfig of a user.
func (l *live) as(name string, groups ...string) string {
	l.t.Helper()
	user, err := l.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	raw, err := user.KubeConfig()
	if err != nil {
		l.t.Fatal(err)
	}
	path := filepath.Join(l.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		l.t.Fatal(err)
	}
	return path
}

// waitingJob makes a Job and a pod of it that waits.
func (l *live) waitingJob(name string) {
	l.t.Helper()
	c := &crowd{}
	j := c.job("vision", name, "ann", 0, 0, "small")
	p := c.pod("vision", name+"-0", "ann", 0, "small")
	j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "train:1"}}}
	for _, m := range []*metav1.ObjectMeta{&j.ObjectMeta, &p.ObjectMeta} {
		m.ResourceVersion, m.UID, m.CreationTimestamp = "", "", metav1.Time{}
	}
	l.create(j)
	p.Annotations[api.WorkloadAnnotation] = fmt.Sprintf("batch/Job/%s/%s", name, j.UID)
	p.Status = corev1.PodStatus{}
	l.create(p)
}

func (l *live) annotations(name string) map[string]string {
	l.t.Helper()
	var j batchv1.Job
	if err := l.Get(context.Background(), types.NamespacedName{Namespace: "vision", Name: name}, &j); err != nil {
		l.t.Fatal(err)
	}
	return j.Annotations
}

func typed(t *testing.T, kubeconfig, args string) string {
	t.Helper()
	return terminal(t, nil, append(strings.Fields(args), "--kubeconfig", kubeconfig)...)
}

// TestTheOrderIsChangedOnARealAPIServer moves and promotes as an administrator and
// as somebody who may order one project's queue only.
func TestTheOrderIsChangedOnARealAPIServer(t *testing.T) {
	l := startLive(t)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vision", Labels: map[string]string{api.ProjectLabel: "vision"}}},
		&api.PriorityQueue{ObjectMeta: metav1.ObjectMeta{Name: "vision"}})
	for _, name := range []string{"a", "b", "c"} {
		l.waitingJob(name)
	}
	admin := l.as("admin", "system:masters")
	wantAll(t, typed(t, admin, "queue vision"), "vision/job/a", "vision/job/b", "vision/job/c", reasonNotSaid)
	last := lastOf(t, typed(t, admin, "queue vision"))
	wantAll(t, typed(t, admin, "queue move "+last+" --to 1 --dry-run"), "place 3 -> 1 of project vision", "dry run: nothing was changed")
	name := strings.TrimPrefix(last, "vision/job/")
	if a := l.annotations(name); a[api.RankAnnotation] != "" {
		t.Errorf("a dry run wrote %v", a)
	}
	wantAll(t, typed(t, admin, "queue move "+last+" --to 1"), "place 3 -> 1 of project vision", "\ndone\n")
	wantAll(t, typed(t, admin, "queue vision"), "1       vision    "+last)
	wantAll(t, typed(t, admin, "queue promote "+name+"-0 -n vision"), "place 1 of all projects", "\ndone\n")
	if a := l.annotations(name); a[api.PromotedAnnotation] == "" || a[api.RankAnnotation] == "" {
		t.Errorf("annotations are %v", a)
	}
	wantAll(t, typed(t, admin, "why vision/"+name+"-0"), "it waits, and the controller has not said why", "is at place 1 of 3 in project vision, promoted before all projects")

	l.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "see"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"get", "list", "patch"}},
		{APIGroups: []string{"aipub.io"}, Resources: []string{"priorityqueues"}, Verbs: []string{"get", "list"}},
	}}, binding("see", "lead"))
	lead := l.as("lead")
	first := lastOf(t, typed(t, lead, "queue vision"))
	wantAll(t, typed(t, lead, "queue move "+first+" --to 2"), "you are not allowed to reorder on priorityqueues.aipub.io vision", "exit status 1")
	l.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "order"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"aipub.io"}, Resources: []string{"priorityqueues"}, ResourceNames: []string{"vision"}, Verbs: []string{"reorder"}},
	}}, binding("order", "lead"))
	l.granted(lead, first)
	wantAll(t, typed(t, lead, "queue promote "+first), "place 3 -> 2 of project vision", "note: you may not promote across projects", "\ndone\n")
	wantAll(t, typed(t, lead, "queue move "+first+" --to 1"), "you are not allowed to promote on priorityqueues.aipub.io", "exit status 1")
	nobody := l.as("nobody")
	wantAll(t, typed(t, nobody, "queue vision"), "you are not allowed to list pods", "you are not allowed to list priorityqueues.aipub.io", "exit status 1")
}

func binding(role, user string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}}
}

// granted waits until the API server has seen a new binding.
func (l *live) granted(kubeconfig, workload string) {
	l.t.Helper()
	got := ""
	for range 200 {
		if got = typed(l.t, kubeconfig, "queue move "+workload+" --to 2 --dry-run"); !strings.Contains(got, "not allowed") {
			return
		}
	}
	l.t.Fatalf("the right was not granted:\n%s", got)
}

// lastOf is the workload in the last row of a queue.
func lastOf(t *testing.T, screen string) string {
	t.Helper()
	last := ""
	for line := range strings.Lines(screen) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[2], "vision/job/") {
			last = f[2]
		}
	}
	if last == "" {
		t.Fatalf("there is no row in:\n%s", screen)
	}
	return last
}

// TestManyMoveAtOnce has several administrators move the same workload to the front
// at once: each write is one of the order as it was, and none is lost in silence.
func TestManyMoveAtOnce(t *testing.T) {
	l := startLive(t)
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "vision", Labels: map[string]string{api.ProjectLabel: "vision"}}},
		&api.PriorityQueue{ObjectMeta: metav1.ObjectMeta{Name: "vision"}})
	jobs := []string{"a", "b", "c", "d"}
	for _, name := range jobs {
		l.waitingJob(name)
	}
	admin := l.as("admin", "system:masters")
	screens := make([]string, 8)
	var all sync.WaitGroup
	for i := range screens {
		all.Go(func() {
			screens[i] = typed(t, admin, fmt.Sprintf("queue move vision/job/%s --to %d", jobs[i%2], 1+i%3))
		})
	}
	all.Wait()
	for _, s := range screens {
		if !strings.Contains(s, "\ndone\n") && !strings.Contains(s, "nothing was changed") {
			t.Errorf("neither done nor refused:\n%s", s)
		}
	}
	// Whatever came of it, the order is one, and the next move does what it says.
	// Jobs of one second stand in the order of their UIDs, so d may be the first already.
	typed(t, admin, "queue move vision/job/d --to 4")
	wantAll(t, typed(t, admin, "queue move vision/job/d --to 1"), "-> 1 of project vision", "\ndone\n")
	wantAll(t, typed(t, admin, "queue vision"), "1       vision    vision/job/d")
}
