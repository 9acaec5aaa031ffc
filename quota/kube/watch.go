// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/objects"
)

// managedPods selects the pods that admission labelled.
var managedPods = func() labels.Selector {
	r, err := labels.NewRequirement(api.SetLabel, selection.Exists, nil)
	if err != nil {
		return labels.Nothing() // cannot be: the label is well formed
	}
	return labels.NewSelector().Add(*r)
}()

// Watch is what a replica knows of the cluster. Every replica runs one, so that each
// can answer admission, and the next leader knows everything at once. It has a cache
// of its own, which keeps only what is used here.
type Watch struct {
	cache  cache.Cache
	reader client.Reader
	model  *model
	books  books
	events EventRecorder
	synced []toolscache.InformerSynced
	// further are the kinds of others; see [NewWatch].
	further further
	// leading is true while this replica leads.
	leading atomic.Bool
}

// NewWatch makes a watch that is not running. events records moves in the queue
// while this replica leads; nil records nothing. kinds are further kinds of workloads,
// somebody else's, whose places in the queue count. One that the cluster does not have
// is left out until the next start.
func NewWatch(config *rest.Config, scheme *runtime.Scheme, events EventRecorder, kinds ...schema.GroupKind) (*Watch, error) {
	others, err := findKinds(config, kinds)
	if err != nil {
		return nil, err
	}
	off := false
	metadata := cache.ByObject{Transform: stripWorkload}
	options := cache.Options{
		Scheme:                       scheme,
		ReaderFailOnMissingInformer:  true,
		DefaultTransform:             cache.TransformStripManagedFields(),
		DefaultUnsafeDisableDeepCopy: &off,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                            {Label: managedPods, Transform: stripPod},
			&corev1.Namespace{}:                      {Transform: stripNamespace},
			&corev1.Node{}:                           {Transform: stripNode},
			&batchv1.Job{}:                           metadata,
			&appsv1.Deployment{}:                     metadata,
			&appsv1.StatefulSet{}:                    metadata,
			&autoscalingv2.HorizontalPodAutoscaler{}: metadata,
			&api.Workspace{}:                         metadata,
		},
	}
	for _, kind := range slices.Concat(metadataKinds, others.kinds) {
		options.ByObject[kind.object()] = metadata
	}
	c, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	w := &Watch{cache: c, reader: c, model: newModel(), events: events, further: others}
	return w, w.register()
}

// metadataKinds are workloads of which only metadata is looked at.
var metadataKinds = []metadataKind{
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}},
	{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}},
	{schema.GroupVersionKind{Version: "v1", Kind: "ReplicationController"}},
}

type metadataKind struct{ schema.GroupVersionKind }

func (k metadataKind) object() *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return o
}

// register asks for every kind that is looked at. All informers exist before any
// runs, so none is missing later.
func (w *Watch) register() error {
	w.books.model = w.model
	var errs []error
	on := func(object client.Object, set, gone func(any)) {
		errs = append(errs, w.handle(object, set, gone))
	}
	on(&corev1.Pod{}, w.setPod, w.removePod)
	on(&corev1.Namespace{}, w.setNamespace, w.removeNamespace)
	on(&autoscalingv2.HorizontalPodAutoscaler{}, w.setAutoscaler, w.removeAutoscaler)
	workload := func(object client.Object, group, kind string) {
		on(object, func(o any) { w.setWorkload(o, group, kind) }, w.removeWorkload)
	}
	workload(&batchv1.Job{}, "batch", "Job")
	workload(&appsv1.Deployment{}, "apps", "Deployment")
	workload(&appsv1.StatefulSet{}, "apps", "StatefulSet")
	workload(&api.Workspace{}, api.GroupVersion.Group, "Workspace")
	for _, k := range metadataKinds {
		workload(k.object(), k.Group, k.Kind)
	}
	required := len(w.synced)
	for _, k := range w.further.kinds {
		workload(k.object(), k.Group, k.Kind)
	}
	w.further.synced = slices.Clone(w.synced[required:])
	w.synced = w.synced[:required]
	poke := func(any) { w.model.poke() }
	on(&corev1.Node{}, poke, poke)
	on(&api.ResourceSet{}, poke, poke)
	errs = append(errs, w.handlePartitions())
	// A change of status alone, which is mostly our own, decides nothing.
	for _, object := range []client.Object{&api.ResourceSetQuota{}, &api.PriorityQueue{}} {
		errs = append(errs, w.handleSpec(object))
	}
	return errors.Join(errs...)
}

// handle has a kind's changes lead to set and gone.
func (w *Watch) handle(object client.Object, set, gone func(any)) error {
	return w.add(object, toolscache.ResourceEventHandlerFuncs{
		AddFunc: set,
		UpdateFunc: func(before, after any) {
			b, ok := before.(client.Object)
			a, okToo := after.(client.Object)
			if !ok || !okToo || b.GetResourceVersion() != a.GetResourceVersion() {
				set(after)
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			gone(o)
		},
	})
}

func (w *Watch) handleSpec(object client.Object) error {
	poke := func(any) { w.model.poke() }
	return w.add(object, toolscache.ResourceEventHandlerFuncs{
		AddFunc: poke, DeleteFunc: poke,
		UpdateFunc: func(before, after any) {
			b, ok := before.(client.Object)
			a, okToo := after.(client.Object)
			if !ok || !okToo || b.GetGeneration() != a.GetGeneration() {
				w.model.poke()
			}
		},
	})
}

// handlePartitions has changes of NodePartitions count, but for those of how slices are
// used, which agents write anew all the time.
func (w *Watch) handlePartitions() error {
	poke := func(any) { w.model.poke() }
	return w.add(&api.NodePartition{}, toolscache.ResourceEventHandlerFuncs{
		AddFunc: poke, DeleteFunc: poke,
		UpdateFunc: func(before, after any) {
			if partitionMatters(before, after) {
				w.model.poke()
			}
		},
	})
}

// partitionMatters reports whether a change of a NodePartition can change a decision.
func partitionMatters(before, after any) bool {
	b, ok := before.(*api.NodePartition)
	a, okToo := after.(*api.NodePartition)
	return !ok || !okToo || !equality.Semantic.DeepEqual(b.Status.Steady(), a.Status.Steady())
}

func (w *Watch) add(object client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := w.cache.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	w.synced = append(w.synced, registration.HasSynced)
	return nil
}

// GetCache returns the cache, which the manager starts before what needs it.
func (w *Watch) GetCache() cache.Cache { return w.cache }

// NeedLeaderElection says that every replica watches.
func (w *Watch) NeedLeaderElection() bool { return false }

// Start watches until the context ends.
func (w *Watch) Start(ctx context.Context) error {
	w.further.tell(ctx)
	go w.books.keep(ctx, w)
	if err := w.cache.Start(ctx); err != nil {
		return fmt.Errorf("run cache: %w", err)
	}
	return nil
}

// Synced reports whether everything that existed at the start is known.
func (w *Watch) Synced() bool {
	for _, synced := range w.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// wait waits until the watch is synced, and a little for what others define.
func (w *Watch) wait(ctx context.Context) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for began := time.Now(); !w.Synced() || !w.further.ready(time.Since(began)); {
		select {
		case <-ctx.Done():
			return fmt.Errorf("sync caches: %w", ctx.Err())
		case <-ticker.C:
		}
	}
	return nil
}

func (w *Watch) setPod(o any) {
	if pod, ok := o.(*corev1.Pod); ok {
		w.model.apply(pod)
	}
}

func (w *Watch) removePod(o any) {
	if pod, ok := o.(*corev1.Pod); ok {
		w.model.remove(string(pod.UID))
	}
}

func (w *Watch) setNamespace(o any) {
	if ns, ok := o.(*corev1.Namespace); ok {
		w.model.setNamespace(ns.Name, ns.Labels[api.ProjectLabel])
	}
}

func (w *Watch) removeNamespace(o any) {
	if ns, ok := o.(*corev1.Namespace); ok {
		w.model.setNamespace(ns.Name, "")
	}
}

func (w *Watch) setAutoscaler(o any) {
	if h, ok := o.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		w.model.setAutoscaler(h)
	}
}

func (w *Watch) removeAutoscaler(o any) {
	if h, ok := o.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		w.model.removeAutoscaler(h)
	}
}

func (w *Watch) setWorkload(o any, group, kind string) {
	object, ok := o.(client.Object)
	if !ok || !relevant(object) {
		return
	}
	w.announceMove(w.model.setWorkload(objects.WorkloadOf(object, group, kind)), object)
}

func (w *Watch) removeWorkload(o any) {
	if object, ok := o.(client.Object); ok && relevant(object) {
		w.model.removeWorkload(string(object.GetUID()))
	}
}

// relevant reports whether admission has stamped an object: those of other
// namespaces are not kept.
func relevant(o client.Object) bool { return o.GetAnnotations()[api.ProjectAnnotation] != "" }
