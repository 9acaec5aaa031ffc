// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestAWorkspaceRunsPausesAndComesBackAsItWas(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	w := newWorkspace("lab")
	w.Spec.Save = api.SaveCommit
	c.create(t, w)
	c.phase(t, "lab", api.PhaseRunning)
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "lab"}, &corev1.Service{}); err != nil {
		t.Errorf("its Service: %v", err)
	}
	c.set(t, "lab", func(w *api.Workspace) { w.Spec.Paused = true })
	paused := c.phase(t, "lab", api.PhasePaused)
	if paused.Status.Saved == nil || paused.Status.Pause.FreedAt == nil {
		t.Fatalf("paused: %+v", paused.Status)
	}
	if paused.Status.Occupancy != nil && paused.Status.Occupancy.Since != nil {
		t.Errorf("its clock still runs: %+v", paused.Status.Occupancy)
	}
	c.set(t, "lab", func(w *api.Workspace) { w.Spec.Paused = false })
	c.phase(t, "lab", api.PhaseRunning)
	pod := &corev1.Pod{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: "lab-0"}, pod); err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Image; got != paused.Status.Saved.Image {
		t.Errorf("it comes back as %s, saved was %s", got, paused.Status.Saved.Image)
	}
}

func TestALimitPausesInItsSecondAndWarnsBefore(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	p := policy(0)
	p.Spec.WarnBefore = []metav1.Duration{{Duration: 3 * time.Second}}
	c.create(t, p)
	c.create(t, newWorkspace("lab"))
	c.phase(t, "lab", api.PhaseRunning)
	c.held(t, "lab", 3600-8)
	var deadline time.Time
	eventually(t, "it is warned", func() error {
		o := c.workspace(t, "lab").Status.Occupancy
		if o == nil || len(o.Warnings) == 0 || o.ExpiresAt == nil {
			return fmt.Errorf("%+v", o)
		}
		deadline = o.ExpiresAt.Time
		return nil
	})
	var paused *api.Workspace
	eventually(t, "it is paused", func() error {
		if paused = c.workspace(t, "lab"); !paused.Spec.Paused {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	at := time.Now()
	if at.Before(deadline) {
		t.Errorf("paused %s before %s", deadline.Sub(at), deadline)
	}
	t.Logf("BENCH reclaim.late_s %.3f s", at.Sub(deadline).Seconds())
	if paused.Status.Pause == nil || paused.Status.Pause.Reason != api.ReasonOccupancyLimit || paused.Status.Pause.By != "everyone" {
		t.Errorf("it says of its pause: %+v", paused.Status.Pause)
	}
	c.phase(t, "lab", api.PhasePaused)
	c.set(t, "lab", func(w *api.Workspace) { w.Spec.Paused = false })
	again := c.phase(t, "lab", api.PhaseRunning)
	eventually(t, "its clock is new", func() error {
		o := c.workspace(t, "lab").Status.Occupancy
		if o == nil || o.ExpiresAt == nil || time.Until(o.ExpiresAt.Time) < 59*time.Minute {
			return fmt.Errorf("%+v", o)
		}
		return nil
	})
	if again.Status.Pause != nil {
		t.Errorf("it still says that it is paused: %+v", again.Status.Pause)
	}
}

// atOnce is how many are due in the same second; `make bench` has more.
var atOnce = flag.Int("at-once", 50, "how many Workspaces are due in the same second")

func TestManyThatAreDueInOneSecondArePausedOnceEach(t *testing.T) {
	many := *atOnce
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	for i := range many {
		w := newWorkspace(name(i))
		w.Spec.Ports = nil
		c.create(t, w)
	}
	for i := range many {
		c.phase(t, name(i), api.PhaseRunning)
	}
	for i := range many {
		c.held(t, name(i), 7200)
	}
	c.create(t, policy(0))
	since := time.Now()
	for i := range many {
		w := c.phase(t, name(i), api.PhasePaused)
		if w.Generation != 2 || w.Status.Pause.By != "everyone" {
			t.Errorf("%s was changed %d times, paused by %q", w.Name, w.Generation-1, w.Status.Pause.By)
		}
	}
	t.Logf("BENCH reclaim.storm_s %.1f s (%d due at once, until all sets are free)", time.Since(since).Seconds(), many)
}

func TestAFailedSaveKeepsItUpAndAControllerThatDiesLosesNothing(t *testing.T) {
	const many = 6
	c := start(t)
	c.play(t)
	stop := c.control(t, nil)
	for i := range many {
		w := newWorkspace(name(i))
		w.Spec.Save = api.SaveCommit
		c.create(t, w)
	}
	for i := range many {
		c.phase(t, name(i), api.PhaseRunning)
	}
	c.fail = true
	c.set(t, name(0), func(w *api.Workspace) { w.Spec.Paused = true })
	eventually(t, "its user is told", func() error {
		w := c.workspace(t, name(0))
		if w.Status.Reason != api.ReasonSaveFailed || w.Status.Phase != api.PhaseRunning || w.Status.Pause.RetryAt == nil {
			return fmt.Errorf("%+v", w.Status)
		}
		return nil
	})
	c.fail = false
	c.set(t, name(0), func(w *api.Workspace) { w.Spec.Paused = false })
	c.phase(t, name(0), api.PhaseRunning)
	for round := range 2 {
		for i := range many {
			c.set(t, name(i), func(w *api.Workspace) { w.Spec.Paused = true })
		}
		for range 3 { // the leader dies while they are being saved
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond) // anywhere in the middle
			stop()
			stop = c.control(t, nil)
		}
		for i := range many {
			w := c.phase(t, name(i), api.PhasePaused)
			if w.Status.Saved == nil || w.Status.Saved.Snapshot != w.Status.Pause.Snapshot {
				t.Errorf("round %d: %s is paused with %+v saved of %s", round, w.Name, w.Status.Saved, w.Status.Pause.Snapshot)
			}
			c.set(t, name(i), func(w *api.Workspace) { w.Spec.Paused = false })
		}
		for i := range many {
			c.phase(t, name(i), api.PhaseRunning)
		}
	}
	stop()
}

func TestADeploymentOfTypeWorkspaceIsPausedAndResumed(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	c.create(t, policy(0))
	labels := map[string]string{"app": "notebook"}
	meta := metav1.ObjectMeta{Namespace: team, Name: "notebook", Annotations: map[string]string{
		api.UserAnnotation: "alice", api.ProjectAnnotation: "vision", api.TypeAnnotation: string(api.TypeWorkspace),
	}}
	service := meta
	service.Name, service.Annotations = "service", map[string]string{api.UserAnnotation: "alice", api.ProjectAnnotation: "vision", api.TypeAnnotation: string(api.TypeOperation)}
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "forged", UID: "forged", Controller: ptr.To(true)}} // frees it of nothing
	for _, m := range []metav1.ObjectMeta{meta, service} {
		c.create(t, &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "notebook:1"}}}}}})
	}
	deployment := func(name string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: team, Name: name}, d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	annotate := func(name, key, value string) {
		eventually(t, "annotate "+name, func() error {
			d := deployment(name)
			d.Annotations[key] = value
			return c.Update(t.Context(), d)
		})
	}
	eventually(t, "its clock runs", func() error {
		if d := deployment("notebook"); d.Annotations[api.OccupancyAnnotation] == "" {
			return fmt.Errorf("annotations %v", d.Annotations)
		}
		return nil
	})
	annotate("notebook", api.OccupancyAnnotation, fmt.Sprintf(`{"since":%q,"heldSeconds":7200}`, time.Now().UTC().Format(time.RFC3339)))
	eventually(t, "it is paused and free", func() error {
		if d := deployment("notebook"); *d.Spec.Replicas != 0 || d.Annotations[api.PausedReplicasAnnotation] != "2" || d.Annotations[api.OccupancyAnnotation] != "" {
			return fmt.Errorf("%d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
		}
		return nil
	})
	annotate("notebook", api.PauseAnnotation, "false")
	eventually(t, "it is resumed with a new clock", func() error {
		d := deployment("notebook")
		if *d.Spec.Replicas != 2 || d.Annotations[api.PausedAnnotation] != "" || d.Annotations[api.PauseAnnotation] != "" {
			return fmt.Errorf("%d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
		}
		return nil
	})
	annotate("notebook", api.PauseAnnotation, "true")
	eventually(t, "it is paused on request", func() error {
		if d := deployment("notebook"); *d.Spec.Replicas != 0 || d.Annotations[api.PausedAnnotation] == "" {
			return fmt.Errorf("%d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
		}
		return nil
	})
	if d := deployment("service"); *d.Spec.Replicas != 2 || d.Annotations[api.OccupancyAnnotation] != "" {
		t.Errorf("an Operation was touched: %d replicas, annotations %v", *d.Spec.Replicas, d.Annotations)
	}
}
