// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
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
	runner, pod, claim := &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}
	found, err := c.get(ctx, client.ObjectKeyFromObject(w), runner)
	if err != nil {
		return Seen{}, err
	}
	if found {
		s.Runner = runner
	}
	if found, err = c.get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name + "-0"}, pod); err != nil {
		return Seen{}, err
	}
	if found && s.Runner != nil && metav1.IsControlledBy(pod, s.Runner) {
		s.Pod = pod
	}
	if found, err = c.get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: ClaimName(w)}, claim); err != nil {
		return Seen{}, err
	}
	if found {
		s.Claim = claim
	}
	var snapshots api.WorkspaceSnapshotList
	if err := c.client.List(ctx, &snapshots, client.InNamespace(w.Namespace), client.MatchingLabels(labels(w))); err != nil {
		return Seen{}, fmt.Errorf("list snapshots: %w", err)
	}
	for _, item := range snapshots.Items {
		if item.Spec.WorkspaceUID == string(w.UID) {
			s.Snapshots = append(s.Snapshots, item)
		}
	}
	if bound(s.Pod) {
		if s.NodeGone, err = c.nodeGone(ctx, s.Pod.Spec.NodeName); err != nil {
			return Seen{}, err
		}
	}
	if saved := w.Status.Saved; saved != nil && saved.Node != "" {
		if s.SavedNodeGone, err = c.nodeGone(ctx, saved.Node); err != nil {
			return Seen{}, err
		}
	}
	return s, nil
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
