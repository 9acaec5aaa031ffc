// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/go-logr/logr"

	api "aipub.io/aipub/api/v1alpha1"
)

// resync is how often Apply runs though nothing was seen to change: it finds
// what nobody announces, such as MIG instances changed by hand.
const resync = 5 * time.Minute

// retryFirst is the pause after an Apply that failed; it doubles up to
// retryMost. Hardware that fails for a while must not wait long after.
const (
	retryFirst = 200 * time.Millisecond
	retryMost  = 30 * time.Second
)

// Config says for which node to watch, and whom to tell.
type Config struct {
	// Node is the name of this node.
	Node string
	// Log receives changes of state.
	Log logr.Logger
	// Apply makes the node what the cluster wants. It is called once at start,
	// after each change, after each Poke and every few minutes; never twice at
	// once. An error makes it run again, later and later.
	Apply func(context.Context, Desired) error
	// Served returns the resource names that the node advertises now.
	Served func() []string
	// PodsChanged is called when a pod of this node appears, ends or goes. It
	// must not block.
	PodsChanged func()
}

// Watcher follows the cluster for one node.
type Watcher struct {
	cfg    Config
	mgr    ctrl.Manager
	pokes  chan event.GenericEvent
	synced atomic.Bool // the pods of the node are known
	stale  staleness   // used by reconcile only, of which one runs at a time
}

// Scheme knows the kinds that the node agent reads and writes.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register core kinds: %w", err)
	}
	if err := api.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register aipub kinds: %w", err)
	}
	return s, nil
}

// NewClient writes to the API server and reads from it directly.
func NewClient(rc *rest.Config) (client.Client, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(rc, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	return c, nil
}

// NewWatcher prepares a watcher; Run starts it. Only this node's Node and pods
// are held in memory.
func NewWatcher(rc *rest.Config, cfg Config) (*Watcher, error) {
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(rc, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 cfg.Log,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Field: fields.OneTermEqualSelector("metadata.name", cfg.Node)},
			&corev1.Pod{}:  {Field: fields.OneTermEqualSelector("spec.nodeName", cfg.Node), Transform: slimPod},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("create manager: %w", err)
	}
	w := &Watcher{cfg: cfg, mgr: mgr, pokes: make(chan event.GenericEvent, 1), stale: staleness{}}
	if err := w.build(); err != nil {
		return nil, err
	}
	return w, nil
}

func (w *Watcher) build() error {
	// Every source asks for the same one request: this node.
	here := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{w.request()}
	})
	skipNames := true // a new watcher replaces a failed one under the same name
	err := ctrl.NewControllerManagedBy(w.mgr).Named("node").
		WithOptions(controller.Options{
			SkipNameValidation: &skipNames,
			RateLimiter:        workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
		}).
		Watches(&corev1.Node{}, here).
		Watches(&api.PartitionPolicy{}, here).
		Watches(&api.ResourceSet{}, here).
		WatchesRawSource(source.Channel(w.pokes, here)).
		Complete(reconcile.Func(w.reconcile))
	if err != nil {
		return fmt.Errorf("build node controller: %w", err)
	}
	return nil
}

func (w *Watcher) request() reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: w.cfg.Node}}
}

// Poke asks for Apply to run soon. It never blocks; pokes that meet are one.
func (w *Watcher) Poke() {
	select {
	case w.pokes <- event.GenericEvent{Object: &corev1.Node{}}:
	default:
	}
}

// Run follows the cluster until ctx ends. It returns an error when the cluster
// cannot be reached at all; call it again with a new Watcher then.
func (w *Watcher) Run(ctx context.Context) error {
	pods, err := w.mgr.GetCache().GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	changed := func(any) { w.cfg.PodsChanged() }
	_, err = pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(before, after any) {
			if phaseOf(before) != phaseOf(after) {
				w.cfg.PodsChanged()
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
			w.synced.Store(true)
			w.cfg.PodsChanged()
		}
	}()
	if err := w.mgr.Start(ctx); err != nil {
		return fmt.Errorf("follow the cluster: %w", err)
	}
	return nil
}

func phaseOf(obj any) corev1.PodPhase {
	if p, ok := obj.(*corev1.Pod); ok {
		return p.Status.Phase
	}
	return ""
}

func (w *Watcher) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	if err := w.mgr.GetClient().Get(ctx, client.ObjectKey{Name: w.cfg.Node}, node); err != nil {
		return reconcile.Result{}, fmt.Errorf("read node %s: %w", w.cfg.Node, err)
	}
	var policies api.PartitionPolicyList
	if err := w.mgr.GetClient().List(ctx, &policies); err != nil {
		return reconcile.Result{}, fmt.Errorf("list partition policies: %w", err)
	}
	var sets api.ResourceSetList
	if err := w.mgr.GetClient().List(ctx, &sets); err != nil {
		return reconcile.Result{}, fmt.Errorf("list resource sets: %w", err)
	}
	if err := w.cfg.Apply(ctx, NewDesired(node, policies.Items, sets.Items)); err != nil {
		return reconcile.Result{}, err
	}
	again, err := w.clean(ctx, node, time.Now())
	return reconcile.Result{RequeueAfter: again}, err
}

// clean takes resource names that nobody serves out of the Node's status, and
// says when to look again.
func (w *Watcher) clean(ctx context.Context, node *corev1.Node, now time.Time) (time.Duration, error) {
	due, next := w.stale.due(StaleNames(node, w.cfg.Served()), now)
	if len(due) == 0 {
		return next, nil
	}
	if err := removeNames(ctx, w.mgr.GetClient(), node, due, true); err != nil {
		return next, err
	}
	w.cfg.Log.Info("removed stale resource names", "names", due)
	return next, nil
}
