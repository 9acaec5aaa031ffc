// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// notebook is a Deployment of type Workspace.
func notebook(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: newWorkspace(name).ObjectMeta, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "notebook:1"}}}},
	}}
}

func (c *cluster) change(t *testing.T, name string, change func(*appsv1.Deployment)) {
	t.Helper()
	eventually(t, "change "+name, func() error {
		d := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, d); err != nil {
			return err
		}
		change(d)
		return c.Update(t.Context(), d)
	})
}

// clock waits until a Deployment's clock is as wanted.
func (c *cluster) clock(t *testing.T, name, what string, wanted func(d *appsv1.Deployment, o api.Occupancy) bool) (d *appsv1.Deployment, o api.Occupancy) {
	t.Helper()
	d = &appsv1.Deployment{}
	eventually(t, name+" "+what, func() error {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, d); err != nil {
			return err
		}
		o = api.Occupancy{}
		if text := d.Annotations[api.OccupancyAnnotation]; text != "" {
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				return err
			}
		}
		if !wanted(d, o) {
			return fmt.Errorf("%d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
		}
		return nil
	})
	return d, o
}

func runs(d *appsv1.Deployment, o api.Occupancy) bool { return *d.Spec.Replicas > 0 && o.Since != nil }

func isFree(d *appsv1.Deployment, o api.Occupancy) bool {
	return *d.Spec.Replicas == 0 && d.Annotations[api.PausedAnnotation] != "" && o.Since == nil
}

func askPause(d *appsv1.Deployment) { d.Annotations[api.PauseAnnotation] = "true" }

// TestOddThingsThatHappenToOtherKinds has one cluster for all of them.
func TestOddThingsThatHappenToOtherKinds(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	c.create(t, policy(0))
	t.Run("who takes aipub.io/paused away resumes it", func(t *testing.T) {
		c.create(t, notebook("taken"))
		c.clock(t, "taken", "runs", runs)
		c.change(t, "taken", askPause)
		c.clock(t, "taken", "is paused", isFree)
		c.change(t, "taken", func(d *appsv1.Deployment) { delete(d.Annotations, api.PausedAnnotation) })
		d, _ := c.clock(t, "taken", "runs again", runs)
		if *d.Spec.Replicas != 2 || d.Annotations[api.PausedReplicasAnnotation] != "" {
			t.Errorf("%d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
		}
	})
	t.Run("a pod that was evicted stays and holds nothing", func(t *testing.T) {
		c.create(t, notebook("evicted"))
		d, _ := c.clock(t, "evicted", "runs", runs)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "evicted-old", Annotations: map[string]string{
			api.WorkloadAnnotation: "apps/Deployment/evicted/" + string(d.UID)}}, Spec: d.Spec.Template.Spec}
		p.Spec.NodeName = "n1"
		c.create(t, p)
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		if err := c.Status().Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		c.change(t, "evicted", askPause)
		c.clock(t, "evicted", "is paused", isFree)
	})
	t.Run("who is named as its owner stops no clock, and keeps none running", func(t *testing.T) {
		n := notebook("owned")
		n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Lab", Name: "lab", UID: "lab", Controller: ptr.To(true)}}
		c.create(t, n)
		c.clock(t, "owned", "runs", runs)
		c.change(t, "owned", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(0)) })
		_, stopped := c.clock(t, "owned", "does not count", func(_ *appsv1.Deployment, o api.Occupancy) bool { return o.Since == nil })
		c.change(t, "owned", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(int32(1)) })
		_, o := c.clock(t, "owned", "runs again", runs)
		if o.HeldSeconds != stopped.HeldSeconds {
			t.Errorf("it held %d s before, and when it stopped %d s", o.HeldSeconds, stopped.HeldSeconds)
		}
	})
}
