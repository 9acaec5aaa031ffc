// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// see gathers what there is of a Workspace.
func (c *Controller) see(ctx context.Context, w *api.Workspace) (Seen, error) {
	s := Seen{Workspace: w, Now: c.config.Clock.Now()}
	err := errors.Join(c.seeObjects(ctx, &s), c.seeSnapshots(ctx, &s))
	if err == nil && bound(s.Pod) {
		s.NodeGone, err = c.nodeGone(ctx, s.Pod.Spec.NodeName)
	}
	if saved := w.Status.Saved; err == nil && saved != nil && saved.Node != "" {
		s.SavedNodeGone, err = c.nodeGone(ctx, saved.Node)
	}
	return s, err
}

// seeObjects finds its StatefulSet, that one's pod, and its home.
func (c *Controller) seeObjects(ctx context.Context, s *Seen) error {
	w := s.Workspace
	runner, pod, claim := &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	runs, err := c.get(ctx, client.ObjectKeyFromObject(w), runner)
	has, failed := c.get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name + "-0"}, pod)
	lives, unread := c.get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: ClaimName(w)}, claim)
	switch {
	case runs && metav1.IsControlledBy(runner, w):
		s.Runner = runner
	case runs:
		s.Taken = true
	}
	if has && s.ours(pod) {
		s.Pod = pod
	}
	if lives {
		s.Claim = claim
	}
	return errors.Join(err, failed, unread)
}

// ours reports whether a pod is the Workspace's: its StatefulSet's or, where that is gone
// and left it behind, one that was made for it and for the same user.
func (s *Seen) ours(pod *corev1.Pod) bool {
	if s.Runner != nil {
		return metav1.IsControlledBy(pod, s.Runner)
	}
	w := s.Workspace
	return !s.Taken && pod.Labels[api.WorkspaceLabel] == w.Name && pod.Annotations[templateAnnotation] != "" &&
		pod.Annotations[api.UserAnnotation] == w.Annotations[api.UserAnnotation]
}

func (c *Controller) seeSnapshots(ctx context.Context, s *Seen) error {
	var list api.WorkspaceSnapshotList
	if err := c.client.List(ctx, &list, client.InNamespace(s.Workspace.Namespace), client.MatchingLabels(labels(s.Workspace))); err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, item := range list.Items {
		if item.Spec.WorkspaceUID == string(s.Workspace.UID) {
			s.Snapshots = append(s.Snapshots, item)
		}
	}
	return c.seeLatest(ctx, s)
}

// seeLatest reads the snapshot of the pause under way from the API server where the cache
// does not know it yet: it must not be asked for twice.
func (c *Controller) seeLatest(ctx context.Context, s *Seen) error {
	pause := s.Workspace.Status.Pause
	if pause == nil || pause.Snapshot == "" || s.snapshot(pause.Snapshot) != nil {
		return nil
	}
	latest := api.WorkspaceSnapshot{}
	err := c.config.Live.Get(ctx, client.ObjectKey{Namespace: s.Workspace.Namespace, Name: pause.Snapshot}, &latest)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read snapshot %s: %w", pause.Snapshot, err)
	}
	if err == nil && latest.Spec.WorkspaceUID == string(s.Workspace.UID) {
		s.Snapshots = append(s.Snapshots, latest)
	}
	return nil
}

// get reads an object and reports whether it exists.
func (c *Controller) get(ctx context.Context, key client.ObjectKey, into client.Object) (bool, error) {
	switch err := c.client.Get(ctx, key, into); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return true, nil
}

func (c *Controller) nodeGone(ctx context.Context, name string) (bool, error) {
	found, err := c.get(ctx, client.ObjectKey{Name: name}, &corev1.Node{})
	return !found, err
}
