// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// fieldManager owns what this package applies.
const fieldManager = client.FieldOwner("aipub-workspaces")

// writeStatus writes a status if it differs, and only over the one that was read.
func (c *Controller) writeStatus(ctx context.Context, w *api.Workspace, status api.WorkspaceStatus) error {
	if equality.Semantic.DeepEqual(w.Status, status) {
		return nil
	}
	after := w.DeepCopy()
	after.Status = status
	patch := client.MergeFromWithOptions(w, client.MergeFromWithOptimisticLock{})
	if err := c.client.Status().Patch(ctx, after, patch); err != nil {
		return fmt.Errorf("write status of workspace %s/%s: %w", w.Namespace, w.Name, err)
	}
	w.ResourceVersion = after.ResourceVersion
	return nil
}

// reclaim asks for a pause on behalf of a ReclaimPolicy: first why, then that.
func (c *Controller) reclaim(ctx context.Context, w *api.Workspace, v Verdict) error {
	status := *w.Status.DeepCopy()
	status.Occupancy, status.Pause = v.Occupancy, v.Pause
	if err := c.writeStatus(ctx, w, status); err != nil {
		return err
	}
	before := w.DeepCopy()
	w.Spec.Paused = true
	if err := c.client.Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("pause workspace %s/%s: %w", w.Namespace, w.Name, err)
	}
	v.Told()
	return nil
}

// dropExtend takes away the time that was added to a clock that has ended.
func (c *Controller) dropExtend(ctx context.Context, w *api.Workspace) error {
	after := w.DeepCopy()
	delete(after.Annotations, api.ExtendAnnotation)
	if err := c.client.Patch(ctx, after, client.MergeFromWithOptions(w, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("end the extension of workspace %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}

// create makes an object that was not found. What another made under its name is left
// alone.
func (c *Controller) create(ctx context.Context, o client.Object) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	err := c.client.Create(ctx, o, fieldManager)
	switch {
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("make %s %s/%s: one of this name exists and belongs to another; rename one of the two: %w", kind, o.GetNamespace(), o.GetName(), err)
	case err != nil:
		return fmt.Errorf("make %s %s/%s: %w", kind, o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// apply makes an object of ours what it shall be, and takes over what another wrote in
// its fields.
func (c *Controller) apply(ctx context.Context, o client.Object) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return fmt.Errorf("encode %T: %w", o, err)
	}
	delete(raw, "status")
	u := &unstructured.Unstructured{Object: raw}
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(raw, "spec", "template", "metadata", "creationTimestamp")
	if err := c.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldManager, client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s/%s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// keepRunner has the StatefulSet make a pod, of the template that is wanted now.
func (c *Controller) keepRunner(ctx context.Context, w *api.Workspace, is *appsv1.StatefulSet) error {
	wanted := runner(w, 1)
	switch {
	case is == nil:
		return c.create(ctx, wanted)
	case ptr.Deref(is.Spec.Replicas, 1) == 1 && is.Spec.Template.Annotations[templateAnnotation] == wanted.Spec.Template.Annotations[templateAnnotation]:
		return nil
	}
	return c.apply(ctx, wanted)
}

// stopRunner has the StatefulSet make no pod, whatever its template is.
func (c *Controller) stopRunner(ctx context.Context, is *appsv1.StatefulSet) error {
	if is == nil || ptr.Deref(is.Spec.Replicas, 1) == 0 {
		return nil
	}
	after := is.DeepCopy()
	after.Spec.Replicas = ptr.To(int32(0))
	if err := c.client.Patch(ctx, after, client.MergeFrom(is), fieldManager); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("stop workspace %s/%s: %w", is.Namespace, is.Name, err)
	}
	return nil
}

func (c *Controller) keepService(ctx context.Context, w *api.Workspace) error {
	wanted, is := service(w), &corev1.Service{}
	found, err := c.get(ctx, client.ObjectKeyFromObject(w), is)
	ours := found && metav1.IsControlledBy(is, w)
	switch {
	case err != nil:
		return err
	case wanted == nil && ours:
		return client.IgnoreNotFound(c.client.Delete(ctx, is))
	case wanted == nil, ours && samePorts(is.Spec.Ports, wanted.Spec.Ports):
		return nil
	case !ours:
		return c.create(ctx, wanted)
	}
	return c.apply(ctx, wanted)
}

func samePorts(is, wanted []corev1.ServicePort) bool {
	if len(is) != len(wanted) {
		return false
	}
	for i := range is {
		if is[i].Name != wanted[i].Name || is[i].Port != wanted[i].Port {
			return false
		}
	}
	return true
}
