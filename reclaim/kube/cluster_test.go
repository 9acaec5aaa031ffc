// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim/kube"
	"aipub.io/aipub/reclaim/workspace"
	"aipub.io/aipub/test/kit/apiserver"
)

const team = "team"

// cluster is a real API server, in which the test plays the StatefulSet controller, the
// scheduler, the kubelet and the agents.
type cluster struct {
	client.WithWatch
	config *rest.Config
	// hold keeps the agents from saving; fail has them fail.
	hold, fail bool
	// engine is the one that runs, or ran last.
	engine *kube.Engine
}

func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{config: apiserver.Start(t)}
	var err error
	if c.WithWatch, err = client.NewWithWatch(c.config, client.Options{Scheme: apiserver.Scheme(t)}); err != nil {
		t.Fatal(err)
	}
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	c.create(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	return c
}

func (c *cluster) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("create %T %s: %v", o, o.GetName(), err)
	}
}

// control runs the controllers until stop is called.
func (c *cluster) control(t *testing.T, machine clock.PassiveClock) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ctrl.SetLogger(logr.Discard())
	mgr, err := ctrl.NewManager(c.config, ctrl.Options{
		Scheme: apiserver.Scheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Logger: logr.Discard(), Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := kube.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		t.Fatal(err)
	}
	now := kube.NewClock(machine)
	events := mgr.GetEventRecorder("test")
	engine := kube.NewEngine(mgr.GetClient(), kube.Config{Clock: now, Events: events, Notify: kube.NewNotifier(nil)})
	c.engine = engine
	var others []*kube.Others
	for _, k := range kube.Kinds(false) {
		o := kube.NewOthers(k, engine, mgr.GetClient(), mgr.GetAPIReader())
		if err := o.SetupWithManager(mgr); err != nil {
			t.Fatal(err)
		}
		others = append(others, o)
	}
	err = workspace.New(mgr.GetClient(), workspace.Config{Clock: now, Reclaimer: engine, Events: events}).SetupWithManager(mgr)
	if err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(kube.NewSteps(engine, c, others)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("run manager: %v", err)
		}
	}()
	return func() { cancel(); <-ended }
}

// play plays everybody else until the test ends.
func (c *cluster) play(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c.turn(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// turn does what is due; what fails is due at the next turn as well.
func (c *cluster) turn(ctx context.Context) {
	var sets appsv1.StatefulSetList
	var deployments appsv1.DeploymentList
	var snapshots api.WorkspaceSnapshotList
	if c.List(ctx, &sets) != nil || c.List(ctx, &deployments) != nil || c.List(ctx, &snapshots) != nil {
		return
	}
	for i := range sets.Items {
		s := &sets.Items[i]
		c.run(ctx, s, "StatefulSet", *s.Spec.Replicas, s.Spec.Template)
		if s.Status.ObservedGeneration != s.Generation || s.Status.Replicas != *s.Spec.Replicas {
			pod := &corev1.Pod{}
			gone := c.Get(ctx, client.ObjectKey{Namespace: team, Name: s.Name + "-0"}, pod) != nil
			if gone == (*s.Spec.Replicas == 0) {
				s.Status.ObservedGeneration, s.Status.Replicas = s.Generation, *s.Spec.Replicas
				_ = c.Status().Update(ctx, s)
			}
		}
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		c.run(ctx, d, "Deployment", *d.Spec.Replicas, d.Spec.Template)
	}
	for i := range snapshots.Items {
		c.save(ctx, &snapshots.Items[i])
	}
}

// run makes one pod for a workload of one replica or more, on a node and ready at once,
// or deletes it.
func (c *cluster) run(ctx context.Context, o client.Object, kind string, replicas int32, template corev1.PodTemplateSpec) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: o.GetName() + "-0"}}
	exists := c.Get(ctx, client.ObjectKeyFromObject(pod), pod) == nil
	if replicas == 0 {
		if exists {
			_ = c.Delete(ctx, pod, client.GracePeriodSeconds(0))
		}
		return
	}
	if exists && pod.Status.Phase == corev1.PodRunning {
		return
	}
	if !exists {
		pod.Labels, pod.Annotations, pod.Spec = template.Labels, map[string]string{}, template.Spec
		for k, v := range template.Annotations {
			pod.Annotations[k] = v
		}
		pod.Annotations[api.WorkloadAnnotation] = fmt.Sprintf("apps/%s/%s/%s", kind, o.GetName(), o.GetUID())
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: ptr.To(true)}}
		pod.Spec.NodeName = "n1"
		if c.Create(ctx, pod) != nil {
			return
		}
	}
	now := metav1.Now()
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}, ContainerStatuses: []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
	_ = c.Status().Update(ctx, pod)
}

func (c *cluster) save(ctx context.Context, s *api.WorkspaceSnapshot) {
	if !s.DeletionTimestamp.IsZero() && len(s.Finalizers) > 0 {
		s.Finalizers = nil
		_ = c.Update(ctx, s)
		return
	}
	if c.hold || s.Status.Phase == api.SnapshotSaved || s.Status.Phase == api.SnapshotFailed {
		return
	}
	s.Status = api.WorkspaceSnapshotStatus{Phase: api.SnapshotSaved, Image: "saved:" + s.Name, OnNode: true, Bytes: 1 << 20}
	if c.fail {
		s.Status = api.WorkspaceSnapshotStatus{Phase: api.SnapshotFailed, Reason: api.ReasonRegistryFailed, Message: "the registry is down"}
	}
	_ = c.Status().Update(ctx, s)
}

// eventually waits for what a controller does.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if last = check(); last == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, last)
}

func newWorkspace(name string) *api.Workspace {
	return &api.Workspace{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: name, Annotations: map[string]string{
			api.UserAnnotation: "alice", api.ProjectAnnotation: "vision", api.TypeAnnotation: string(api.TypeWorkspace),
		}},
		Spec: api.WorkspaceSpec{Set: "small", Image: "notebook:1", Ports: []api.WorkspacePort{{Name: "http", Port: 8888}}},
	}
}

func (c *cluster) workspace(t *testing.T, name string) *api.Workspace {
	t.Helper()
	w := &api.Workspace{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, w); err != nil {
		t.Fatal(err)
	}
	return w
}

func (c *cluster) phase(t *testing.T, name string, want api.WorkspacePhase) *api.Workspace {
	t.Helper()
	var w *api.Workspace
	eventually(t, name+" is "+string(want), func() error {
		if w = c.workspace(t, name); w.Status.Phase != want {
			return fmt.Errorf("phase %s, %s: %s", w.Status.Phase, w.Status.Reason, w.Status.Message)
		}
		return nil
	})
	return w
}

func (c *cluster) set(t *testing.T, name string, change func(*api.Workspace)) {
	t.Helper()
	eventually(t, "change "+name, func() error {
		w := c.workspace(t, name)
		change(w)
		return c.Update(t.Context(), w)
	})
}

// held has a workspace have held its set for a while already.
func (c *cluster) held(t *testing.T, name string, seconds int64) (deadline time.Time) {
	t.Helper()
	eventually(t, name+" has held its set", func() error {
		w := c.workspace(t, name)
		if w.Status.Occupancy == nil || w.Status.Occupancy.Since == nil {
			return fmt.Errorf("no clock: %+v", w.Status.Occupancy)
		}
		w.Status.Occupancy.HeldSeconds = seconds
		deadline = w.Status.Occupancy.Since.Add(time.Hour - time.Duration(seconds)*time.Second)
		return c.Status().Update(t.Context(), w)
	})
	return deadline
}

// policy limits everyone to an hour, with warnings and grace as given.
func policy(graceMinutes int32) *api.ReclaimPolicy {
	return &api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "everyone"}, Spec: api.ReclaimPolicySpec{
		Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 1, GraceMinutes: &graceMinutes,
	}}
}

func name(i int) string { return "lab-" + strconv.Itoa(i) }
