// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "aipub.io/aipub/api/v1alpha1"
)

// hold has a Workspace with a home wait for [Controller.leave] when it is deleted. What
// becomes of its home is decided by what its spec says then, and not by what it said
// when a controller last looked.
func (c *Controller) hold(ctx context.Context, w *api.Workspace) error {
	if w.Spec.Home == nil || controllerutil.ContainsFinalizer(w, api.HomeFinalizer) {
		return nil
	}
	before := w.DeepCopy()
	controllerutil.AddFinalizer(w, api.HomeFinalizer)
	if err := c.client.Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("hold workspace %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

// leave decides what becomes of the home of a Workspace that is being deleted, and then
// lets go of that.
func (c *Controller) leave(ctx context.Context, w *api.Workspace) error {
	if !controllerutil.ContainsFinalizer(w, api.HomeFinalizer) {
		return nil
	}
	if err := c.leaveHome(ctx, w); err != nil {
		return err
	}
	before := w.DeepCopy()
	controllerutil.RemoveFinalizer(w, api.HomeFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}) // keep may have changed since
	if err := c.client.Patch(ctx, w, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("let go of workspace %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

// leaveHome reads past the cache, which may not know a claim yet that was just made.
func (c *Controller) leaveHome(ctx context.Context, w *api.Workspace) error {
	if w.Spec.Home == nil {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{}
	err := c.config.Live.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: ClaimName(w)}, claim)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read claim %s/%s: %w", w.Namespace, ClaimName(w), err)
	}
	s := Seen{Workspace: w}
	if err := c.seeObjects(ctx, &s); err != nil {
		return err
	}
	// Whoever deletes it and leaves its parts behind (--cascade=orphan) wants its home
	// left, too. When that is done, its StatefulSet is nobody's.
	keep := w.Spec.Home.Keep || s.Taken || controllerutil.ContainsFinalizer(w, metav1.FinalizerOrphanDependents)
	return c.changeClaim(ctx, claim, leftHome(w, claim, keep))
}

// keepHome makes the claim, and lets it grow.
func (c *Controller) keepHome(ctx context.Context, s Seen) error {
	if s.Workspace.Spec.Home == nil {
		return nil
	}
	claim := s.Claim
	if claim == nil {
		claim = home(s.Workspace)
		if err := c.client.Create(ctx, claim); apierrors.IsAlreadyExists(err) {
			return nil // the cache will know it
		} else if err != nil {
			return fmt.Errorf("make claim %s/%s: %w", claim.Namespace, claim.Name, err)
		}
	}
	return c.changeClaim(ctx, claim, keptHome(s.Workspace, claim))
}

// changeClaim makes a claim what it shall be; to nil is no change.
func (c *Controller) changeClaim(ctx context.Context, is, to *corev1.PersistentVolumeClaim) error {
	if to == nil {
		return nil
	}
	if err := c.client.Patch(ctx, to, client.MergeFrom(is)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change claim %s/%s: %w", is.Namespace, is.Name, err)
	}
	return nil
}
