// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	api "aipub.io/aipub/api/v1alpha1"
)

// lab is a cluster with people who work in it.
type lab struct{ items []any }

func (l *lab) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return terminal(t, l.dump(t), append(args, "--offline", "-")...)
}

func (l *lab) dump(t *testing.T) []byte {
	t.Helper()
	raw, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": l.items})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func hoursAgo(n float64) *metav1.Time { return inHours(-n) }

func inHours(n float64) *metav1.Time {
	at := metav1.NewTime(clock.Add(time.Duration(n * float64(time.Hour))))
	return &at
}

func (l *lab) meta(namespace, name, user string, kind api.WorkloadType) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID("uid-" + name), ResourceVersion: "7", Generation: 1, CreationTimestamp: made,
		Annotations: stamps(namespace, user, kind),
	}
}

func (l *lab) workspace(namespace, name, user, set string, status api.WorkspaceStatus) *api.Workspace {
	w := &api.Workspace{TypeMeta: typeMeta(api.GroupVersion.String(), "Workspace"), ObjectMeta: l.meta(namespace, name, user, api.TypeWorkspace),
		Spec:   api.WorkspaceSpec{Set: set, Count: 1, Image: "jupyter/pytorch-notebook", Save: api.SaveHome, Paused: status.Phase == api.PhasePaused},
		Status: status}
	w.Status.ObservedGeneration = 1
	l.items = append(l.items, w)
	return w
}

func note(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func templateOf(set string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "editor:1", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceName(api.ResourcePrefix + set): resource.MustParse("1")},
	}}}}}
}

func (l *lab) deployment(namespace, name, user, set string, kind api.WorkloadType) *appsv1.Deployment {
	one := int32(1)
	d := &appsv1.Deployment{TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: l.meta(namespace, name, user, kind),
		Spec: appsv1.DeploymentSpec{Replicas: &one, Template: templateOf(set)}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1}}
	l.items = append(l.items, d)
	return d
}

func (l *lab) statefulSet(namespace, name, user, set string) *appsv1.StatefulSet {
	one := int32(1)
	s := &appsv1.StatefulSet{TypeMeta: typeMeta("apps/v1", "StatefulSet"), ObjectMeta: l.meta(namespace, name, user, api.TypeWorkspace),
		Spec: appsv1.StatefulSetSpec{Replicas: &one, Template: templateOf(set)}}
	l.items = append(l.items, s)
	return s
}

func (l *lab) notebook(t *testing.T, namespace, name, user, set string) *unstructured.Unstructured {
	t.Helper()
	template := templateOf(set)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "Notebook",
		"metadata": map[string]any{"namespace": namespace, "name": name, "uid": "uid-" + name, "resourceVersion": "7"},
		"spec":     map[string]any{"template": spec}, "status": map[string]any{"readyReplicas": int64(1)}}}
	u.SetAnnotations(stamps(namespace, user, api.TypeWorkspace))
	l.items = append(l.items, u)
	return u
}

func (l *lab) policy(name string, spec api.ReclaimPolicySpec) {
	l.items = append(l.items, &api.ReclaimPolicy{TypeMeta: typeMeta(api.GroupVersion.String(), "ReclaimPolicy"), ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
}

func (l *lab) event(about *api.Workspace, ago float64, reason, message string) {
	l.items = append(l.items, &corev1.Event{TypeMeta: typeMeta("v1", "Event"), ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name + "." + reason},
		InvolvedObject: corev1.ObjectReference{Kind: "Workspace", Name: about.Name, Namespace: about.Namespace, UID: about.UID},
		Reason:         reason, Message: message, EventTime: metav1.NewMicroTime(hoursAgo(ago).Time)})
}

// occupancy of somebody who came hours ago and is due in hours.
func occupancy(since, due float64, signal api.ActivitySignal) *api.Occupancy {
	return &api.Occupancy{Since: hoursAgo(since), ExpiresAt: inHours(due), Reason: api.ReasonOccupancyLimit, Policy: "day", Signal: signal}
}

// workingLab has one of each kind and of each phase.
func workingLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{}
	l.policy("day", api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 24, MaxExtensionHours: 8})
	l.policy("nights", api.ReclaimPolicySpec{Scope: api.ReclaimScope{Project: "lab"}, Idle: &api.IdleRule{AfterMinutes: 120}, MaxExtensionHours: 12, Save: api.SaveCommit})
	l.people()
	l.others(t)
	return l
}

func (l *lab) people() {
	o := occupancy(20, 6.5, api.SignalIdle)
	o.HeldSeconds, o.ActiveAt, o.Evidence = 5400, hoursAgo(3), "a terminal was used last at 2026-03-02 06:30 UTC"
	o.Extensions = []api.Extension{{At: *hoursAgo(2), By: "kim", Seconds: 4 * 3600}}
	o.Warnings = []api.ReclaimWarning{{At: *hoursAgo(2.5), ExpiresAt: *inHours(2.5), BeforeSeconds: 86400}}
	kim := l.workspace("lab", "kim", "kim", "small", api.WorkspaceStatus{Phase: api.PhaseRunning, Since: hoursAgo(20), Node: "gpu-01", Occupancy: o,
		Saved: &api.SavedState{Snapshot: "kim-3-1", Image: "aipub.io/workspaces/lab/kim:kim-3-1", BaseImage: "jupyter/pytorch-notebook", Node: "gpu-01", Bytes: 3 << 30, At: *hoursAgo(40)},
		Conditions: []metav1.Condition{{Type: api.ConditionRestartNeeded, Status: metav1.ConditionTrue, Reason: "SpecChanged",
			Message: "spec was changed while it runs; the change takes effect when it is paused and resumed"}}})
	kim.Annotations[api.ExtendAnnotation] = "4h"
	kim.Spec.Home = &api.WorkspaceHome{Size: resource.MustParse("50Gi"), Path: "/home/jovyan"}
	kim.Spec.Ports = []api.WorkspacePort{{Name: "notebook", Port: 8888}}
	l.event(kim, 2, api.ReasonExtended, "kim added 4 h")
	l.event(kim, 2.5, api.ReasonReclaimWarning, "Workspace lab/kim will be paused at 2026-03-02 12:00 UTC (in 5 h)")
	l.event(kim, 20, api.ReasonResumed, "it starts again, and its clock anew")

	l.workspace("lab", "ann", "ann", "large", api.WorkspaceStatus{Phase: api.PhaseQueued, Since: hoursAgo(0.5), Reason: api.ReasonProjectQuotaReached,
		Message: "project lab has 2 of 2 sets large in use: kim 1, lee 1"})
	l.workspace("lab", "lee", "lee", "small", api.WorkspaceStatus{Phase: api.PhasePaused, Since: hoursAgo(30), Reason: api.ReasonIdle,
		Message: "its set is free, by ReclaimPolicy nights (Idle). Start it again: kubectl aipub workspace resume -n lab lee",
		Pause:   &api.Pause{At: *hoursAgo(30), Reason: api.ReasonIdle, By: "nights", FreedAt: hoursAgo(30)}})
	failing := l.workspace("vision", "big", "bob", "large", api.WorkspaceStatus{Phase: api.PhaseRunning, Since: hoursAgo(1), Reason: api.ReasonSaveFailed, Node: "gpu-02",
		Message:   "its work could not be saved (DiskFull: node gpu-02 has 1Gi left and 7Gi are needed), so it goes on running and holds its set; it is tried again at 09:34:00 UTC",
		Occupancy: occupancy(24, 0, api.SignalActive), Pause: &api.Pause{At: *hoursAgo(0.1), Reason: api.ReasonOccupancyLimit, By: "day", Attempts: 2, RetryAt: inHours(0.07),
			Message: "node gpu-02 has 1Gi left and 7Gi are needed"}})
	failing.Spec.Paused, failing.Spec.Count, failing.Spec.Save = true, 2, api.SaveCommit
}

func (l *lab) others(t *testing.T) {
	t.Helper()
	l.deployment("lab", "editor", "ann", "small", api.TypeWorkspace).Annotations[api.OccupancyAnnotation] = note(t, occupancy(2, 120, api.SignalActive))
	l.deployment("lab", "serve", "ann", "small", api.TypeOperation)
	paused := l.statefulSet("lab", "shell", "lee", "cpu")
	*paused.Spec.Replicas = 0
	paused.Annotations[api.PausedAnnotation] = note(t, api.Pause{At: *hoursAgo(5), Reason: api.ReasonRequested, By: "lee", FreedAt: hoursAgo(5)})
	yes := true
	runner := l.statefulSet("lab", "kim", "kim", "small")
	runner.OwnerReferences = []metav1.OwnerReference{{APIVersion: api.GroupVersion.String(), Kind: "Workspace", Name: "kim", UID: "uid-kim", Controller: &yes}}
	unknown := l.notebook(t, "lab", "notes", "cho", "small")
	notes := unknown.GetAnnotations()
	notes[api.OccupancyAnnotation] = note(t, api.Occupancy{Since: hoursAgo(0.2), Signal: api.SignalUnknown, Reason: api.ReasonNoLimit})
	unknown.SetAnnotations(notes)
}
