// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// Phases of kinds other than Workspace, beside Queued, Starting, Running and Paused.
const (
	phasePausing = "Pausing" // a pause was asked for; it holds its set until its pods are gone
	phaseStopped = "Stopped" // somebody else stopped it: it has no replicas
)

// notebookStopped is the annotation by which Kubeflow stops a Notebook.
const notebookStopped = "kubeflow-resource-stopped"

// bound is something that ReclaimPolicies bind, as the commands see it. Its JSON form
// is for scripts.
type bound struct {
	Kind      string           `json:"kind"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	User      string           `json:"user,omitempty"`
	Project   string           `json:"project,omitempty"`
	Sets      map[string]int64 `json:"sets,omitempty"`
	// Phase, since when, and why: a typed reason and a sentence.
	Phase   string       `json:"phase,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	Node    string       `json:"node,omitempty"`
	// HeldSeconds is how long it has held its set since it was resumed last, until now.
	HeldSeconds int64          `json:"heldSeconds,omitempty"`
	Occupancy   *api.Occupancy `json:"occupancy,omitempty"`
	Pause       *api.Pause     `json:"pause,omitempty"`

	ref    boundRef
	object *unstructured.Unstructured
	// workspace is the object where it is a Workspace, else nil.
	workspace *api.Workspace
}

// newBound reads an object of a kind as it is at a time.
func newBound(kind boundKind, u *unstructured.Unstructured, now time.Time) (*bound, error) {
	b := &bound{
		Kind: kind.Kind, Namespace: u.GetNamespace(), Name: u.GetName(), object: u,
		User: u.GetAnnotations()[api.UserAnnotation], Project: u.GetAnnotations()[api.ProjectAnnotation],
		ref: boundRef{kind: kind, namespace: u.GetNamespace(), name: u.GetName()},
	}
	u.SetGroupVersionKind(kind.GroupVersionKind)
	read := b.readOther
	if kind.isWorkspace() {
		read = b.readWorkspace
	}
	if err := read(); err != nil {
		return nil, fmt.Errorf("read %s: %w", b.ref, err)
	}
	if o := b.Occupancy; o != nil {
		b.HeldSeconds = o.HeldSeconds
		if o.Since != nil {
			b.HeldSeconds += int64(max(now.Sub(o.Since.Time), 0).Seconds())
		}
	}
	return b, nil
}

func (b *bound) readWorkspace() error {
	w := &api.Workspace{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(b.object.Object, w); err != nil {
		return err
	}
	s := w.Status
	b.workspace, b.Sets = w, map[string]int64{w.Spec.Set: int64(max(w.Spec.Count, 1))}
	b.Phase, b.Since, b.Reason, b.Message, b.Node = string(s.Phase), s.Since, s.Reason, s.Message, s.Node
	b.Occupancy, b.Pause = s.Occupancy, s.Pause
	return nil
}

// readOther reads what the controller notes on other kinds in annotations.
func (b *bound) readOther() error {
	notes := b.object.GetAnnotations()
	for key, into := range map[string]any{api.OccupancyAnnotation: &b.Occupancy, api.PausedAnnotation: &b.Pause} {
		if notes[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(notes[key]), into); err != nil {
			return fmt.Errorf("read annotation %s: %w", key, err)
		}
	}
	template, found, err := unstructured.NestedMap(b.object.Object, "spec", "template", "spec")
	if err == nil && found {
		var spec corev1.PodSpec
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &spec); err != nil {
			return err
		}
		b.Sets = objects.Sets(&spec)
	}
	b.Phase, b.Since = b.otherPhase(notes)
	return err
}

// otherPhase is where one of another kind is, and since when if that is known.
func (b *bound) otherPhase(notes map[string]string) (phase string, since *metav1.Time) {
	holds := b.Occupancy != nil && b.Occupancy.Since != nil
	switch {
	case b.Pause != nil && b.Pause.FreedAt == nil:
		return phasePausing, &b.Pause.At
	case b.Pause != nil:
		return string(api.PhasePaused), b.Pause.FreedAt
	case notes[api.PauseAnnotation] == "true":
		return phasePausing, nil
	case b.stopped():
		return phaseStopped, nil
	case !holds:
		return string(api.PhaseQueued), nil
	case b.ready():
		return string(api.PhaseRunning), b.Occupancy.Since
	}
	return string(api.PhaseStarting), b.Occupancy.Since
}

// stopped reports whether one of another kind shall have no pods.
func (b *bound) stopped() bool {
	if _, ok := b.object.GetAnnotations()[notebookStopped]; ok {
		return true
	}
	replicas, found := b.number("spec", "replicas")
	return found && replicas == 0
}

func (b *bound) ready() bool {
	n, _ := b.number("status", "readyReplicas")
	return n > 0
}

// number is a number of the object. From a file all numbers come as floating ones.
func (b *bound) number(path ...string) (n int64, found bool) {
	v, _, err := unstructured.NestedFieldNoCopy(b.object.Object, path...)
	if err != nil {
		return 0, false
	}
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	}
	return 0, false
}

// isBound reports whether policies bind it: a Workspace, or a workload of that type
// which no other workload makes.
func (b *bound) isBound() bool {
	if b.workspace != nil {
		return true
	}
	return b.object.GetAnnotations()[api.TypeAnnotation] == string(api.TypeWorkspace) && metav1.GetControllerOfNoCopy(b.object) == nil
}

// holds reports whether it holds its set.
func (b *bound) holds() bool { return b.Occupancy != nil && b.Occupancy.Since != nil }

// idleFor is how long it has held its set without any activity; 0 unless it is idle.
func (b *bound) idleFor(now time.Time) time.Duration {
	if !b.holds() || b.Occupancy.Signal != api.SignalIdle {
		return 0
	}
	from := b.Occupancy.Since.Time
	if at := b.Occupancy.ActiveAt; at != nil && at.After(from) {
		from = at.Time
	}
	return max(now.Sub(from), 0)
}

// isPaused reports whether it was paused, and nothing holds its set but the pods of one
// of another kind that are ending.
func (b *bound) isPaused() bool {
	if b.workspace != nil {
		return b.workspace.Spec.Paused && b.workspace.Status.Phase == api.PhasePaused
	}
	return b.Pause != nil
}
