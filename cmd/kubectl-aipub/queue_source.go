// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "aipub.io/aipub/api/v1alpha1"
)

// queueKindOf is kindOf for what quotas and queues are about.
func queueKindOf(list runtime.Object) (schema.GroupVersionKind, string, error) {
	switch list.(type) {
	case *corev1.NamespaceList:
		return corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces", nil
	case *batchv1.JobList:
		return batchv1.SchemeGroupVersion.WithKind("Job"), "jobs", nil
	case *appsv1.DeploymentList:
		return appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments", nil
	case *appsv1.StatefulSetList:
		return appsv1.SchemeGroupVersion.WithKind("StatefulSet"), "statefulsets", nil
	case *autoscalingv2.HorizontalPodAutoscalerList:
		return autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), "horizontalpodautoscalers", nil
	case *api.ResourceSetQuotaList:
		return api.GroupVersion.WithKind("ResourceSetQuota"), "resourcesetquotas", nil
	case *api.StorageQuotaList:
		return api.GroupVersion.WithKind("StorageQuota"), "storagequotas", nil
	case *api.WorkspaceList:
		return api.GroupVersion.WithKind("Workspace"), "workspaces", nil
	case *api.PriorityQueueList:
		return api.GroupVersion.WithKind("PriorityQueue"), "priorityqueues", nil
	}
	return schema.GroupVersionKind{}, "", fmt.Errorf("list %T: not a kind that this plugin reads", list)
}

// addQueueKinds makes a scheme know those kinds.
func addQueueKinds(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		batchv1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, authorizationv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return fmt.Errorf("register workload kinds: %w", err)
		}
	}
	return nil
}

// listManagedPods fills a list with the pods that ask for a set in a project.
func listManagedPods(ctx context.Context, from lister, into *corev1.PodList) error {
	if c, ok := from.(*cluster); ok {
		return c.list(ctx, into, "", metav1.ListOptions{LabelSelector: api.SetLabel})
	}
	if err := from.List(ctx, into); err != nil {
		return err
	}
	kept := into.Items[:0]
	for _, p := range into.Items {
		if labels.Set(p.Labels).Has(api.SetLabel) {
			kept = append(kept, p)
		}
	}
	into.Items = kept
	return nil
}

// mapper finds the resource of a kind that a cluster has.
type mapper func() (meta.RESTMapper, error)

// commonResources are those of the kinds that most workloads are, so that the
// cluster need not be asked what it has.
var commonResources = map[schema.GroupKind]schema.GroupVersionResource{
	{Kind: "Pod"}:                          corev1.SchemeGroupVersion.WithResource("pods"),
	{Kind: "ReplicationController"}:        corev1.SchemeGroupVersion.WithResource("replicationcontrollers"),
	{Group: "batch", Kind: "Job"}:          batchv1.SchemeGroupVersion.WithResource("jobs"),
	{Group: "apps", Kind: "Deployment"}:    appsv1.SchemeGroupVersion.WithResource("deployments"),
	{Group: "apps", Kind: "StatefulSet"}:   appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	{Group: "apps", Kind: "ReplicaSet"}:    appsv1.SchemeGroupVersion.WithResource("replicasets"),
	{Group: "apps", Kind: "DaemonSet"}:     appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	{Group: "aipub.io", Kind: "Workspace"}: api.GroupVersion.WithResource("workspaces"),
}

func resourceOf(kind schema.GroupKind, find mapper) (schema.GroupVersionResource, error) {
	if r, ok := commonResources[kind]; ok {
		return r, nil
	}
	m, err := find()
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("find resource of %s: %w", kind, err)
	}
	mapping, err := m.RESTMapping(kind)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("find resource of %s: %w", kind, err)
	}
	return mapping.Resource, nil
}

// listMetadata returns the metadata of all objects of a kind.
func listMetadata(ctx context.Context, from lister, kind schema.GroupKind, find mapper) ([]metav1.ObjectMeta, error) {
	switch f := from.(type) {
	case *dump:
		return f.metadata(kind), nil
	case *cluster:
		resource, err := resourceOf(kind, find)
		if err != nil {
			return nil, err
		}
		return f.metadata(ctx, resource)
	}
	return nil, fmt.Errorf("list %s: there is nothing to read it from", kind)
}

func (d *dump) metadata(kind schema.GroupKind) []metav1.ObjectMeta {
	var out []metav1.ObjectMeta
	for gvk, objects := range d.objects {
		if gvk.GroupKind() != kind {
			continue
		}
		for _, u := range objects {
			out = append(out, metav1.ObjectMeta{
				Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
				CreationTimestamp: u.GetCreationTimestamp(), Annotations: u.GetAnnotations(),
			})
		}
	}
	return out
}
