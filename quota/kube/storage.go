// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/storage"
)

// StorageWatch is what a replica knows of volume claims and storage quotas. Every
// replica runs one. It keeps no claims as objects, only what is counted of them, and
// it follows them without a queue in between: what it has been told of is in the
// book, so it can say up to which version it knows everything.
type StorageWatch struct {
	claims client.WithWatch
	others cache.Cache
	// never are namespaces that are not managed, whatever their labels say.
	never []string

	mu         sync.Mutex
	book       *storage.Book
	known      map[string]storage.Claim // by UID, owner as stamped
	saved      map[string]storage.Claim // likewise, what is saved of Workspaces
	namespaces map[string]string        // project of each, empty for none
	quotas     map[string]api.StorageQuota
	version    uint64
	listed     bool
	synced     []toolscache.InformerSynced
	dirty      chan struct{}
}

// NewStorageWatch makes a watch that is not running. others is a cache, which somebody
// else runs, for quotas and the labels of namespaces; never are namespaces that are not
// managed in any case.
func NewStorageWatch(config *rest.Config, others cache.Cache, scheme *runtime.Scheme, never ...string) (*StorageWatch, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	claims, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	w := &StorageWatch{
		claims: claims, others: others, never: never,
		book: storage.NewBook(nil), known: map[string]storage.Claim{}, saved: map[string]storage.Claim{},
		namespaces: map[string]string{}, quotas: map[string]api.StorageQuota{}, dirty: make(chan struct{}, 1),
	}
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	return w, errors.Join(
		w.on(namespaces, w.setNamespace, func(o client.Object) { w.dropNamespace(o.GetName()) }),
		w.on(&api.WorkspaceSnapshot{}, w.setSnapshot, w.dropSnapshot),
		w.on(&api.StorageQuota{}, w.setQuota, func(o client.Object) { w.dropQuota(o.GetName()) }),
	)
}

// on has changes of a kind lead to set and gone.
func (w *StorageWatch) on(object client.Object, set, gone func(client.Object)) error {
	informer, err := w.others.GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	call := func(f func(client.Object), o any) {
		if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if object, ok := o.(client.Object); ok {
			f(object)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(set, o) },
		UpdateFunc: func(_, o any) { call(set, o) },
		DeleteFunc: func(o any) { call(gone, o) },
	})
	if err != nil {
		return fmt.Errorf("watch %T: %w", object, err)
	}
	w.synced = append(w.synced, registration.HasSynced)
	return nil
}

// NeedLeaderElection says that every replica watches.
func (w *StorageWatch) NeedLeaderElection() bool { return false }

// Start watches until the context ends.
func (w *StorageWatch) Start(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	lw := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.PersistentVolumeClaimList{}
			return list, w.claims.List(ctx, list, &client.ListOptions{Raw: &o, Limit: o.Limit, Continue: o.Continue})
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return w.claims.Watch(ctx, &corev1.PersistentVolumeClaimList{}, &client.ListOptions{Raw: &o})
		},
	}
	options := toolscache.ReflectorOptions{Name: "volume claims", Logger: &log}
	toolscache.NewReflectorWithOptions(lw, &corev1.PersistentVolumeClaim{}, claimStore{w}, options).RunWithContext(ctx)
	return nil
}

// Synced reports whether everything that existed at the start is known.
func (w *StorageWatch) Synced() bool {
	w.mu.Lock()
	listed := w.listed
	w.mu.Unlock()
	return listed && !slices.ContainsFunc(w.synced, func(s toolscache.InformerSynced) bool { return !s() })
}

// Covers reports whether all changes of claims up to a version are in the book.
func (w *StorageWatch) Covers(version uint64) bool {
	if !w.Synced() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version >= version
}

// Use lends the book for the length of a call.
func (w *StorageWatch) Use(f func(*storage.Book)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(w.book)
}

// Refresh asks the API server for all claims. It is for a cache that lags behind,
// where it costs what a restart does.
func (w *StorageWatch) Refresh(ctx context.Context) error {
	list := &corev1.PersistentVolumeClaimList{}
	if err := w.claims.List(ctx, list); err != nil {
		return fmt.Errorf("list volume claims: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replace(list.Items, storage.VersionOf(list.ResourceVersion))
	return nil
}

// list reads the quotas as they are known.
func (w *StorageWatch) list() []api.StorageQuota {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []api.StorageQuota
	for _, q := range w.quotas {
		out = append(out, *q.DeepCopy())
	}
	return out
}

// poke tells the leader that something changed.
func (w *StorageWatch) poke() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}
