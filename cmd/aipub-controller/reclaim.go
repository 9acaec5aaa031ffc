// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/admission"
	"aipub.io/aipub/reclaim/kube"
	"aipub.io/aipub/reclaim/workspace"
)

// cachedObjects are what the cache keeps only in part: of pods those that ask for a set,
// of claims and Services those of Workspaces.
func cachedObjects() (map[client.Object]cache.ByObject, error) {
	out := map[client.Object]cache.ByObject{}
	for object, label := range map[client.Object]string{
		&corev1.Pod{}: v1alpha1.SetLabel, &corev1.PersistentVolumeClaim{}: v1alpha1.WorkspaceLabel, &corev1.Service{}: v1alpha1.WorkspaceLabel,
	} {
		has, err := labels.NewRequirement(label, selection.Exists, nil)
		if err != nil {
			return nil, fmt.Errorf("select by label %s: %w", label, err)
		}
		out[object] = cache.ByObject{Label: labels.NewSelector().Add(*has)}
	}
	return out, nil
}

// addReclaim has the leader keep Workspaces, and the clocks of all that ReclaimPolicies
// bind.
func addReclaim(mgr ctrl.Manager, o *options, m *metrics) error {
	if err := kube.Index(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	clock := kube.NewClock(nil)
	notifier := kube.NewNotifier(m.reclaim.notifyFailed)
	events := mgr.GetEventRecorder("aipub-controller")
	engine := kube.NewEngine(mgr.GetClient(), kube.Config{
		Clock: clock, Events: events, Notify: notifier, Jupyter: kube.NewJupyter(clock.Now),
		Secrets: mgr.GetAPIReader(), Observe: m.reclaim,
	})
	workspaces := workspace.New(mgr.GetClient(), workspace.Config{Clock: clock, Reclaimer: engine, Live: mgr.GetAPIReader(), Events: events})
	if err := workspaces.SetupWithManager(mgr); err != nil {
		return err
	}
	if err := workspace.NewReleaser(mgr.GetClient()).SetupWithManager(mgr); err != nil {
		return err
	}
	kinds, err := admission.ParseKinds(o.stampedKinds)
	if err != nil {
		return err
	}
	_, notebooks := kinds[kube.NotebookKind.GroupKind()]
	var others []*kube.Others
	for _, kind := range kube.Kinds(notebooks) {
		other := kube.NewOthers(kind, engine, mgr.GetClient(), mgr.GetAPIReader())
		if err := other.SetupWithManager(mgr); err != nil {
			return err
		}
		others = append(others, other)
	}
	direct, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	parts := []manager.Runnable{notifier, kube.NewSteps(engine, direct, others), kube.NewStatuses(engine, mgr.GetClient(), others)}
	for _, part := range parts {
		if err := mgr.Add(part); err != nil {
			return fmt.Errorf("add %T: %w", part, err)
		}
	}
	return nil
}
