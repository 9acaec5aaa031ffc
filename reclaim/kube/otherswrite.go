// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

func ctrlOnly(p predicate.Predicate) builder.WatchesOption { return builder.WithPredicates(p) }

// read reads an annotation of ours, and reports whether it is there. One that says
// nothing that can be read counts as absent: only the controller writes them.
func read(o metav1.Object, name string, into any) bool {
	text := o.GetAnnotations()[name]
	return text != "" && json.Unmarshal([]byte(text), into) == nil
}

// written is the value of an annotation of ours.
func written(value any) string {
	raw, err := json.Marshal(value)
	if err != nil { // of plain data: it cannot be
		return ""
	}
	return string(raw)
}

// keep writes a workload's clock, over what was read and nothing newer.
func (o *Others) keep(ctx context.Context, is *metav1.PartialObjectMetadata, occupancy api.Occupancy) error {
	if err := o.patchClock(ctx, is, occupancy); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("keep the clock of %s %s/%s: %w", o.GroupVersionKind.Kind, is.Namespace, is.Name, err)
	}
	return nil
}

func (o *Others) patchClock(ctx context.Context, is *metav1.PartialObjectMetadata, occupancy api.Occupancy) error {
	after := is.DeepCopy()
	annotate(after, api.OccupancyAnnotation, written(occupancy))
	return o.client.Patch(ctx, after, client.MergeFromWithOptions(is, client.MergeFromWithOptimisticLock{}))
}

// change reads a workload as it is now, and writes what changes it in one request. What
// was decided on an older state of it than is there now is not carried out: what a pause
// notes of it, for one, would be wrong after another one.
func (o *Others) change(ctx context.Context, c Case, what func(*unstructured.Unstructured)) error {
	is := &unstructured.Unstructured{}
	is.SetGroupVersionKind(o.GroupVersionKind)
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(c.Object), is); err != nil {
		return client.IgnoreNotFound(err)
	}
	if is.GetUID() != c.Object.GetUID() {
		return nil // another of its name
	}
	is.SetResourceVersion(c.Object.GetResourceVersion())
	after := is.DeepCopy()
	what(after)
	if err := o.client.Patch(ctx, after, client.MergeFromWithOptions(is, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change %s: %w", c.Workload, err)
	}
	return nil
}

// pause has a workload make no pods, and notes why in the same request.
func (o *Others) pause(ctx context.Context, c Case, p *api.Pause, d *reclaim.Decision) error {
	return o.change(ctx, c, func(u *unstructured.Unstructured) {
		if d != nil {
			annotate(u, api.OccupancyAnnotation, written(d.Occupancy))
		}
		annotate(u, api.PausedAnnotation, written(p))
		annotate(u, api.PauseAnnotation, "")
		o.stop(u, p.At.Time)
	})
}

// whilePaused notes when its pods are gone, and resumes what somebody starts: with the
// annotation aipub.io/pause, or in the kind's own way.
func (o *Others) whilePaused(ctx context.Context, c Case) error {
	is := &unstructured.Unstructured{}
	is.SetGroupVersionKind(o.GroupVersionKind)
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(c.Object), is); err != nil {
		return client.IgnoreNotFound(err)
	}
	var p api.Pause
	if is.GetUID() != c.Object.GetUID() || !read(is, api.PausedAnnotation, &p) {
		return nil // the cache does not know yet what has become of it
	}
	c.Object = is
	asked := is.GetAnnotations()[api.PauseAnnotation]
	if asked == "false" || !o.stopped(is) {
		return o.resume(ctx, c)
	}
	if p.FreedAt != nil || len(c.Pods) > 0 {
		if asked == "true" { // it is paused
			return o.change(ctx, c, func(u *unstructured.Unstructured) { annotate(u, api.PauseAnnotation, "") })
		}
		return nil
	}
	p.FreedAt = stamp(o.engine.Now())
	err := o.change(ctx, c, func(u *unstructured.Unstructured) {
		annotate(u, api.PausedAnnotation, written(p))
		annotate(u, api.OccupancyAnnotation, "")
		annotate(u, api.ExtendAnnotation, "")
	})
	if err == nil {
		o.engine.event(c, corev1.EventTypeNormal, api.ReasonPaused, "its sets are free; start it again: kubectl aipub workspace resume -n "+
			c.Namespace+" "+c.Kind+"/"+c.Name)
	}
	return err
}

// resume lets it make pods again, with a clock that begins anew.
func (o *Others) resume(ctx context.Context, c Case) error {
	err := o.change(ctx, c, func(u *unstructured.Unstructured) {
		for _, name := range []string{api.PausedAnnotation, api.PauseAnnotation, api.OccupancyAnnotation, api.ExtendAnnotation} {
			annotate(u, name, "")
		}
		o.start(u)
	})
	if err == nil {
		o.engine.event(c, corev1.EventTypeNormal, api.ReasonResumed, "it starts again, and its clock anew")
	}
	return err
}
