// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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
			c.set(t, name, func(w *api.Workspace) { w.Spec.Command = []string{"another"}; w.Spec.ImagePullSecrets = []string{"No Such!"} })
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
