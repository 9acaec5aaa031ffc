// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// A cluster has far more in its objects than is used here. Each of these takes the
// rest away before an object is kept.

// stripMeta keeps our own annotations and labels, and the controlling owner.
func stripMeta(m *metav1.ObjectMeta) {
	m.ManagedFields, m.Finalizers = nil, nil
	m.Annotations, m.Labels = own(m.Annotations), own(m.Labels)
	for _, o := range m.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			m.OwnerReferences = []metav1.OwnerReference{o}
			return
		}
	}
	m.OwnerReferences = nil
}

func own(all map[string]string) map[string]string {
	var out map[string]string
	for k, v := range all {
		if strings.HasPrefix(k, "aipub.io/") {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stripMeta(&pod.ObjectMeta)
	spec := corev1.PodSpec{
		SchedulingGates: pod.Spec.SchedulingGates, NodeName: pod.Spec.NodeName, NodeSelector: pod.Spec.NodeSelector,
		Tolerations: pod.Spec.Tolerations, InitContainers: stripContainers(pod.Spec.InitContainers),
		Containers: stripContainers(pod.Spec.Containers),
	}
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
	}
	status := corev1.PodStatus{Phase: pod.Status.Phase}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == api.ConditionAllocated {
			status.Conditions = append(status.Conditions, c)
		}
	}
	pod.Spec, pod.Status = spec, status
	return pod, nil
}

// stripContainers keeps the containers that ask for sets.
func stripContainers(all []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range all {
		if sets := objects.ContainerSets(&all[i]); len(sets) > 0 {
			out = append(out, corev1.Container{
				Name: all[i].Name, RestartPolicy: all[i].RestartPolicy,
				Resources: corev1.ResourceRequirements{Limits: setLimits(all[i].Resources)},
			})
		}
	}
	return out
}

func setLimits(r corev1.ResourceRequirements) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, has := r.Limits[name]; has {
			out[name] = q // what it was given for its sets
		}
	}
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for name, q := range list {
			if strings.HasPrefix(string(name), api.ResourcePrefix) {
				out[name] = q
			}
		}
	}
	return out
}

// stripWorkload keeps, of what makes pods, what decides how many and of what kind.
func stripWorkload(object any) (any, error) {
	switch o := object.(type) {
	case *appsv1.Deployment:
		stripMeta(&o.ObjectMeta)
		o.Spec = appsv1.DeploymentSpec{Replicas: o.Spec.Replicas, Template: stripTemplate(&o.Spec.Template)}
		o.Status = appsv1.DeploymentStatus{}
	case *appsv1.StatefulSet:
		stripMeta(&o.ObjectMeta)
		o.Spec = appsv1.StatefulSetSpec{Replicas: o.Spec.Replicas, Template: stripTemplate(&o.Spec.Template)}
		o.Status = appsv1.StatefulSetStatus{}
	case *batchv1.Job:
		stripMeta(&o.ObjectMeta)
		o.Spec = batchv1.JobSpec{Parallelism: o.Spec.Parallelism, Completions: o.Spec.Completions}
		o.Status = batchv1.JobStatus{Succeeded: o.Status.Succeeded, FailedIndexes: o.Status.FailedIndexes}
	case *api.Workspace:
		stripMeta(&o.ObjectMeta)
		occupancy := o.Status.Occupancy
		o.Spec, o.Status = api.WorkspaceSpec{}, api.WorkspaceStatus{}
		if occupancy != nil {
			o.Status.Occupancy = &api.Occupancy{ExpiresAt: occupancy.ExpiresAt}
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		stripMeta(&o.ObjectMeta)
		o.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: o.Spec.ScaleTargetRef, MinReplicas: o.Spec.MinReplicas, MaxReplicas: o.Spec.MaxReplicas,
		}
		o.Status = autoscalingv2.HorizontalPodAutoscalerStatus{}
	case *metav1.PartialObjectMetadata:
		stripMeta(&o.ObjectMeta)
	}
	return object, nil
}

func stripTemplate(t *corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: stripContainers(t.Spec.InitContainers), Containers: stripContainers(t.Spec.Containers),
	}}
}

func stripNamespace(object any) (any, error) {
	if ns, ok := object.(*corev1.Namespace); ok {
		stripMeta(&ns.ObjectMeta)
	}
	return object, nil
}

// stripNode keeps what decides whether pods may be there.
func stripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	node.ManagedFields, node.Annotations = nil, nil
	status := corev1.NodeStatus{Allocatable: node.Status.Allocatable}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// Without the heartbeat, so that it does not count as a change.
			c.LastHeartbeatTime = metav1.Time{}
			status.Conditions = append(status.Conditions, c)
		}
	}
	node.Status = status
	return node, nil
}
