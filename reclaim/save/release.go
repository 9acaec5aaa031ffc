// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "aipub.io/aipub/api/v1alpha1"
)

// orphanAge is how long an image stays that no snapshot names. Snapshots go after their
// images, so there should be none; where a cluster was restored from an older copy, this
// is the time to notice.
const orphanAge = 24 * time.Hour

// release removes the image of a snapshot that is deleted, and lets the snapshot go.
func (s *Saver) release(ctx context.Context, w *api.WorkspaceSnapshot) error {
	if !controllerutil.ContainsFinalizer(w, api.SnapshotFinalizer) {
		return nil
	}
	if err := s.drop(ctx, w, w.Status); err != nil {
		return err
	}
	before := w.DeepCopy()
	controllerutil.RemoveFinalizer(w, api.SnapshotFinalizer)
	err := s.client.Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	return client.IgnoreNotFound(err)
}

// drop removes what a snapshot was saved as. What the registry does not delete stays
// there: not every registry deletes, and that must not keep a namespace alive.
func (s *Saver) drop(ctx context.Context, w *api.WorkspaceSnapshot, status api.WorkspaceSnapshotStatus) error {
	if err := s.dropLocal(ctx, w); err != nil {
		return err
	}
	if !strings.Contains(status.Image, "@") || status.OnNode || s.config.Registry == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := s.config.Registry.Delete(ctx, status.Image); err != nil {
		s.config.Log.Error(err, "a saved image stays in the registry", "namespace", w.Namespace, "snapshot", w.Name, "image", status.Image)
	}
	return nil
}

func (s *Saver) dropLocal(ctx context.Context, w *api.WorkspaceSnapshot) error {
	if s.config.Images == nil || !w.Spec.Commit {
		return nil
	}
	return s.config.Images.Remove(ctx, imageName(w))
}

// recover lets go of what an earlier agent left half done, once.
func (s *Saver) recover(ctx context.Context) error {
	s.recovering.Lock()
	defer s.recovering.Unlock()
	if s.recovered || s.config.Recover == nil {
		return nil
	}
	if err := s.config.Recover(ctx); err != nil {
		return fmt.Errorf("let go of what an earlier agent left: %w", err)
	}
	s.recovered = true
	return nil
}

// Sweep removes images that no snapshot of this node has needed for a day.
func (s *Saver) Sweep(ctx context.Context) error {
	if s.config.Images == nil {
		return nil
	}
	// First the images: a snapshot is there before its image.
	names, err := s.config.Images.List(ctx, imagePrefix)
	if err != nil {
		return err
	}
	var list api.WorkspaceSnapshotList
	if err := s.client.List(ctx, &list, client.MatchingFields{nodeField: s.config.Node}); err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	needed := map[string]bool{}
	for _, w := range list.Items {
		ended := w.Status.Phase == api.SnapshotFailed || w.Status.Phase == api.SnapshotSaved && !w.Status.OnNode
		needed[imageName(&w)] = !ended
	}
	for _, name := range s.old(names, needed) {
		s.config.Log.Info("removing an image that no snapshot needs", "image", name)
		if err := s.config.Images.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// old are the images that have not been needed for orphanAge.
func (s *Saver) old(names []string, needed map[string]bool) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, seen := s.config.Now(), map[string]time.Time{}
	var old []string
	for _, name := range names {
		if needed[name] {
			continue
		}
		since, known := s.orphans[name]
		if !known {
			since = now
		}
		seen[name] = since
		if now.Sub(since) >= orphanAge {
			old = append(old, name)
		}
	}
	s.orphans = seen
	return old
}
