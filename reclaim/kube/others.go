// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// Others keeps the clocks of one kind of workload, of those that are of type Workspace,
// and pauses and resumes them. Only the elected leader runs it.
type Others struct {
	Kind
	engine *Engine
	client client.Client
	live   client.Reader
}

// NewOthers makes an Others for a kind. It reads through c, which may be a cache, and
// from live what it is about to change.
func NewOthers(k Kind, engine *Engine, c client.Client, live client.Reader) *Others {
	return &Others{Kind: k, engine: engine, client: c, live: live}
}

// bound reports whether a workload is one that people work in, in a project. What a
// controller made for something else, such as the StatefulSet of a Workspace, is bound by
// name only: its pods belong to that one. Who owns it is not asked, since anybody can
// write that.
func bound(o client.Object) bool {
	a := o.GetAnnotations()
	return a[api.TypeAnnotation] == string(api.TypeWorkspace) && a[api.ProjectAnnotation] != ""
}

func (o *Others) object() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(o.GroupVersionKind)
	return out
}

// SetupWithManager has the manager call Reconcile whenever something of such a workload
// changes.
func (o *Others) SetupWithManager(mgr ctrl.Manager) error {
	forget := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		o.engine.Forget(e.Object.GetUID())
	}}
	name := "reclaim-" + strings.ToLower(o.GroupVersionKind.Kind) + "s"
	err := ctrl.NewControllerManagedBy(mgr).Named(name).
		WatchesMetadata(o.object(), &handler.EnqueueRequestForObject{}, ctrlOnly(predicate.NewPredicateFuncs(bound))).
		WatchesMetadata(o.object(), forget).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(o.ofPod)).
		Watches(&api.ReclaimPolicy{}, handler.EnqueueRequestsFromMapFunc(o.all), ctrlOnly(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 4}).
		Complete(o)
	if err != nil {
		return fmt.Errorf("set up %s: %w", name, err)
	}
	return nil
}

// ofPod is the workload of this kind that a pod belongs to.
func (o *Others) ofPod(_ context.Context, pod client.Object) []reconcile.Request {
	parts := strings.Split(pod.GetAnnotations()[api.WorkloadAnnotation], "/")
	if len(parts) != 4 || parts[0] != o.Group || parts[1] != o.GroupVersionKind.Kind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: parts[2]}}}
}

// all are the bound workloads of this kind.
func (o *Others) all(ctx context.Context, _ client.Object) []reconcile.Request {
	items, err := o.list(ctx)
	if err != nil {
		return nil // the cache is stopping
	}
	out := make([]reconcile.Request, 0, len(items))
	for i := range items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items[i])})
	}
	return out
}

func (o *Others) list(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(o.GroupVersionKind)
	if err := o.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list %s: %w", o.GroupVersionKind.Kind, err)
	}
	var out []metav1.PartialObjectMetadata
	for i := range list.Items {
		if bound(&list.Items[i]) {
			out = append(out, list.Items[i])
		}
	}
	return out, nil
}

// soon is when a workload is looked at again that others wrote to meanwhile.
const soon = 100 * time.Millisecond

// Reconcile looks at one workload. What others changed meanwhile is looked at again.
func (o *Others) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := o.step(ctx, req)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return result, err
}

func (o *Others) step(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	is := o.object()
	if err := o.client.Get(ctx, req.NamespacedName, is); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !bound(is) {
		return reconcile.Result{}, nil
	}
	if !is.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	c, paused, err := o.look(ctx, is)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case paused != nil:
		return reconcile.Result{}, o.whilePaused(ctx, c)
	case is.Annotations[api.PausedReplicasAnnotation] != "":
		return reconcile.Result{}, o.resume(ctx, c) // somebody took aipub.io/paused away
	case len(c.Pods) == 0 && is.Annotations[api.OccupancyAnnotation] == "" && metav1.GetControllerOf(is) != nil:
		return reconcile.Result{}, nil // its owner is paused, not it
	}
	if is.Annotations[api.PauseAnnotation] == "true" {
		return reconcile.Result{}, o.pause(ctx, c, &api.Pause{At: *stamp(o.engine.Now()), Reason: api.ReasonRequested}, nil)
	}
	d, rules, err := o.engine.Decide(ctx, c)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("keep the clock of %s: %w", c.Workload, err)
	}
	if d.Pause != nil {
		if err := o.pause(ctx, c, d.Pause, &d); err != nil {
			return reconcile.Result{}, err
		}
		o.engine.Paused(c, d, rules)
		return reconcile.Result{}, nil
	}
	if d.Changed {
		err = o.keep(ctx, is, d.Occupancy)
	}
	return reconcile.Result{RequeueAfter: o.engine.again(c, d, rules)}, err
}

// look gathers a workload's pods and what is kept of it. A pod that has ended holds
// nothing, though it may stay: of what was evicted, nobody deletes it.
func (o *Others) look(ctx context.Context, is *metav1.PartialObjectMetadata) (Case, *api.Pause, error) {
	c := Case{Workload: reclaim.Workload{Kind: o.GroupVersionKind.Kind, Namespace: is.Namespace, Name: is.Name}, Object: is}
	var pods corev1.PodList
	err := o.client.List(ctx, &pods, client.InNamespace(is.Namespace), client.MatchingFields{workloadField: o.reference(is)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return Case{}, nil, fmt.Errorf("list pods of %s: %w", c.Workload, err)
	}
	for i := range pods.Items {
		if !ended(&pods.Items[i]) {
			c.Pods = append(c.Pods, &pods.Items[i])
		}
	}
	var paused api.Pause
	read(is, api.OccupancyAnnotation, &c.Occupancy)
	if read(is, api.PausedAnnotation, &paused) {
		return c, &paused, nil
	}
	return c, nil, nil
}

func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}
