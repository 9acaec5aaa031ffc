// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

// Releaser lets go of deleted snapshots whose node is gone: its agent would remove the
// image, and neither is there any more. Without it a namespace could not be deleted.
type Releaser struct {
	client client.Client
}

// NewReleaser makes a Releaser that reads and writes through c.
func NewReleaser(c client.Client) *Releaser { return &Releaser{client: c} }

// SetupWithManager has the manager call Reconcile for snapshots, and for those of a
// node that goes.
func (r *Releaser) SetupWithManager(mgr ctrl.Manager) error {
	ofNode := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []reconcile.Request {
		if node.GetDeletionTimestamp() == nil && mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(node), &corev1.Node{}) == nil {
			return nil
		}
		var all api.WorkspaceSnapshotList
		if mgr.GetClient().List(ctx, &all, client.UnsafeDisableDeepCopy) != nil {
			return nil // the cache is stopping
		}
		var out []reconcile.Request
		for i := range all.Items {
			if all.Items[i].Spec.Node == node.GetName() {
				out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
			}
		}
		return out
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("workspacesnapshots").
		For(&api.WorkspaceSnapshot{}).Watches(&corev1.Node{}, ofNode).Complete(r)
	if err != nil {
		return fmt.Errorf("set up snapshot controller: %w", err)
	}
	return nil
}

// Reconcile takes the finalizer off a deleted snapshot whose node is gone.
func (r *Releaser) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	w := &api.WorkspaceSnapshot{}
	if err := r.client.Get(ctx, req.NamespacedName, w); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if w.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(w, api.SnapshotFinalizer) {
		return reconcile.Result{}, nil
	}
	err := r.client.Get(ctx, client.ObjectKey{Name: w.Spec.Node}, &corev1.Node{})
	if err == nil || client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	before := w.DeepCopy()
	controllerutil.RemoveFinalizer(w, api.SnapshotFinalizer)
	if err := r.client.Patch(ctx, w, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("release snapshot %s: %w", req.NamespacedName, err)
	}
	return reconcile.Result{}, nil
}

// ReleaseAll takes all finalizers of ours off, so that nothing that is deleted later waits
// for a controller that is gone: what AIPub does last. Homes and saved images stay where
// they are. progress is told how many there were.
func ReleaseAll(ctx context.Context, c client.Client, progress io.Writer) error {
	var workspaces api.WorkspaceList
	var snapshots api.WorkspaceSnapshotList
	for _, list := range []client.ObjectList{&workspaces, &snapshots} {
		if err := c.List(ctx, list); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	held := map[client.Object]string{}
	for i := range workspaces.Items {
		held[&workspaces.Items[i]] = api.HomeFinalizer
	}
	for i := range snapshots.Items {
		held[&snapshots.Items[i]] = api.SnapshotFinalizer
	}
	released := 0
	var failed []error
	for o, finalizer := range held {
		switch was, err := release(ctx, c, o, finalizer); {
		case err != nil:
			failed = append(failed, fmt.Errorf("release %T %s: %w; run cleanup again", o, client.ObjectKeyFromObject(o), err))
		case was:
			released++
		}
	}
	if released > 0 {
		_, _ = fmt.Fprintf(progress, "released %d Workspaces and WorkspaceSnapshots\n", released)
	}
	return errors.Join(failed...)
}

// release takes a finalizer off an object, and leaves those that others put there
// meanwhile.
func release(ctx context.Context, c client.Client, o client.Object, finalizer string) (was bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		before, ok := o.DeepCopyObject().(client.Object)
		if was = ok && controllerutil.RemoveFinalizer(o, finalizer); !was {
			return nil
		}
		err := c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) {
			if gone := c.Get(ctx, client.ObjectKeyFromObject(o), o); gone != nil {
				return gone
			}
		}
		return err
	})
	return was, client.IgnoreNotFound(err)
}
