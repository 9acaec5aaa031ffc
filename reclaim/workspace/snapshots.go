// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// createSnapshot asks the node's agent to save. Its name says which attempt it is, so
// that to ask twice is to ask once.
func (c *Controller) createSnapshot(ctx context.Context, w *api.Workspace, p Plan) error {
	if p.Create == nil {
		return nil
	}
	meta := owned(w, p.CreateName)
	meta.Annotations = map[string]string{}
	for _, name := range []string{api.UserAnnotation, api.ProjectAnnotation} {
		if v := w.Annotations[name]; v != "" {
			meta.Annotations[name] = v // its bytes are charged to the same
		}
	}
	if p.Create.Commit {
		meta.Finalizers = []string{api.SnapshotFinalizer}
	}
	err := c.client.Create(ctx, &api.WorkspaceSnapshot{ObjectMeta: meta, Spec: *p.Create})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make snapshot %s/%s: %w", w.Namespace, p.CreateName, err)
	}
	return nil
}

// markLost says of a snapshot that nobody will finish it.
func (c *Controller) markLost(ctx context.Context, s Seen, p Plan) error {
	is := s.snapshot(p.Lost)
	if is == nil {
		return nil
	}
	after, now := is.DeepCopy(), metav1.NewTime(s.Now)
	after.Status.Phase, after.Status.Reason, after.Status.FinishedAt = api.SnapshotFailed, p.LostReason, &now
	after.Status.Message = "the container went away before it was saved"
	if p.LostReason == api.ReasonNodeLost {
		after.Status.Message = fmt.Sprintf("node %s went away before it was saved", is.Spec.Node)
	}
	if err := c.client.Status().Patch(ctx, after, client.MergeFrom(is)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("mark snapshot %s/%s: %w", is.Namespace, is.Name, err)
	}
	return nil
}

// prune deletes snapshots that are not needed. One whose node is gone has nobody who
// would release it, and nothing to release.
func (c *Controller) prune(ctx context.Context, w *api.Workspace, names []string) error {
	var failed []error
	for _, name := range names {
		o := &api.WorkspaceSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
		if err := client.IgnoreNotFound(c.client.Delete(ctx, o)); err != nil {
			failed = append(failed, fmt.Errorf("delete snapshot %s/%s: %w", w.Namespace, name, err))
		}
	}
	return errors.Join(failed...)
}
