// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// TestWhatIsWrongWithAWorkspaceHoldsUpNoPause breaks what belongs to one, and pauses it.
func TestWhatIsWrongWithAWorkspaceHoldsUpNoPause(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	for what, breaks := range map[string]func(t *testing.T, name string){
		"service": func(t *testing.T, name string) {
			s := &corev1.Service{}
			eventually(t, "its Service", func() error { return c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, s) })
			s.OwnerReferences = nil
			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			c.set(t, name, func(w *api.Workspace) { w.Spec.Ports[0].Port = 9999 })
		},
		"account": func(t *testing.T, name string) {
			c.set(t, name, func(w *api.Workspace) {
				w.Spec.Command = []string{"another"}
				w.Spec.ImagePullSecrets = []string{"No Such!"}
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			name := "odd-" + what
			c.create(t, newWorkspace(name))
			c.phase(t, name, api.PhaseRunning)
			breaks(t, name)
			c.set(t, name, func(w *api.Workspace) { w.Spec.Paused = true })
			c.phase(t, name, api.PhasePaused)
		})
	}
}

func TestANameThatAnotherHasIsSaid(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	c.create(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "taken"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	c.create(t, newWorkspace("taken"))
	eventually(t, "its user is told", func() error {
		w := c.workspace(t, "taken")
		if !strings.Contains(w.Status.Message, "belongs to another") {
			return fmt.Errorf("phase %s: %s", w.Status.Phase, w.Status.Message)
		}
		return nil
	})
	s := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "taken"}, s); err != nil || len(s.OwnerReferences) > 0 || s.Spec.Ports[0].Port != 80 {
		t.Errorf("it was taken over: %v, %+v", err, s)
	}
}

// TestAResumeBeforeThePodHasEndedBeginsANewClock resumes while the former pod still ends.
func TestAResumeBeforeThePodHasEndedBeginsANewClock(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	c.create(t, policy(0))
	c.create(t, newWorkspace("lab"))
	c.phase(t, "lab", api.PhaseRunning)
	pod := &corev1.Pod{}
	hold := func(finalizers ...string) {
		eventually(t, "hold its pod", func() error {
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "lab-0"}, pod); err != nil {
				return err
			}
			pod.Finalizers = finalizers
			return c.Update(t.Context(), pod)
		})
	}
	hold("test.aipub.io/slow")
	former := pod.UID
	c.held(t, "lab", 7200)
	eventually(t, "its former pod ends", func() error {
		err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "lab-0"}, pod)
		if err == nil && pod.DeletionTimestamp == nil {
			err = errors.New("nobody deletes it")
		}
		return err
	})
	c.set(t, "lab", func(w *api.Workspace) { w.Spec.Paused = false })
	eventually(t, "it is resumed", func() error {
		if w := c.workspace(t, "lab"); w.Status.Pause != nil || w.Status.Occupancy != nil && w.Status.Occupancy.Since != nil {
			return fmt.Errorf("pause %+v, clock %+v", w.Status.Pause, w.Status.Occupancy)
		}
		return nil
	})
	hold()
	eventually(t, "it runs, on a new clock", func() error {
		w := c.workspace(t, "lab")
		if o := w.Status.Occupancy; w.Spec.Paused || o == nil || o.Since == nil || o.HeldSeconds != 0 || o.Pod == string(former) {
			return fmt.Errorf("paused %t, clock %+v", w.Spec.Paused, o)
		}
		return nil
	})
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	p := policy(10)
	p.Spec.WarnBefore = []metav1.Duration{{Duration: 2 * time.Hour}} // at once
	c.create(t, p)
	bare, homely := newWorkspace("bare"), newWorkspace("homely")
	homely.Spec.Home = &api.WorkspaceHome{Size: resource.MustParse("1Gi")}
	labels := map[string]string{"app": "notebook"}
	notebook := &appsv1.Deployment{ObjectMeta: newWorkspace("notebook").ObjectMeta, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "notebook:1"}}}}}}
	all := []client.Object{bare, homely, notebook}
	for _, o := range all {
		c.create(t, o)
	}
	remembers := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d are remembered", want), func() error {
			if n := c.engine.Remembered(); n != want {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
	}
	remembers(len(all))
	for _, o := range all {
		if err := c.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	remembers(0)
}
