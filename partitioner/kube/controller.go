// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

// EventRecorder tells the cluster what happened to an object.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Config are the settings of a Controller.
type Config struct {
	// Live reads from the API server itself, past any cache, where a decision
	// cannot be taken back.
	Live client.Reader
	// Events records changes of reason; nil records nothing.
	Events EventRecorder
	// Observe is told each outcome, for metrics; it may be nil.
	Observe func(Outcome)
	// Charged counts the pods that are charged for each set; false while not all of them
	// are known. nil: nobody is charged for what he does not hold.
	Charged func() (map[string]int64, bool)
	// Delay gathers changes: a round begins this long after the first of them.
	// Zero is 200 ms.
	Delay time.Duration
	// Clock stamps conditions; nil is the machine's.
	Clock clock.PassiveClock
}

// Controller makes ResourceSets and statuses what Judge says. Only the elected
// leader runs it.
type Controller struct {
	client client.Client
	config Config
}

// NewController makes a controller that reads and writes through c, which may
// read from a cache.
func NewController(c client.Client, config Config) *Controller {
	if config.Live == nil {
		config.Live = c
	}
	if config.Delay == 0 {
		config.Delay = 200 * time.Millisecond
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Controller{client: c, config: config}
}

// everything is the only request: a round looks at the whole cluster.
var everything = reconcile.Request{}

// SetupWithManager has the manager run a round whenever something changes that
// a round looks at.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	wake := func(q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.AddAfter(everything, c.config.Delay)
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	always := handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { wake(q) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { wake(q) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { wake(q) },
	}
	whenNodeMatters := always
	whenNodeMatters.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		before, ok := e.ObjectOld.(*corev1.Node)
		after, okToo := e.ObjectNew.(*corev1.Node)
		if !ok || !okToo || nodeMatters(before, after) {
			wake(q)
		}
	}
	whenPartitionMatters := always
	whenPartitionMatters.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q queue) {
		before, ok := e.ObjectOld.(*api.NodePartition)
		after, okToo := e.ObjectNew.(*api.NodePartition)
		if !ok || !okToo || partitionMatters(before, after) {
			wake(q)
		}
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("resourcesets").
		Watches(&api.PartitionPolicy{}, always).
		Watches(&api.ResourceSet{}, always).
		Watches(&api.NodePartition{}, whenPartitionMatters).
		Watches(&corev1.Node{}, whenNodeMatters).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up resource set controller: %w", err)
	}
	return nil
}

// Reconcile is one round. It does all that it can and returns the errors of the
// rest, so that the round is repeated. Where others wrote meanwhile it is repeated
// without an error.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	s, err := c.snapshot(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	out := Judge(s)
	err = errors.Join(
		c.writeSets(ctx, s, out),
		c.writePolicies(ctx, s, out),
		c.deleteOrphans(ctx, s, out),
	)
	if c.config.Observe != nil {
		c.config.Observe(out)
	}
	switch {
	case err == nil && out.Unheld:
		return reconcile.Result{RequeueAfter: recount}, nil
	case err != nil && onlyConflicts(err):
		return reconcile.Result{RequeueAfter: c.config.Delay}, nil
	}
	return reconcile.Result{}, err
}

// recount is how soon a set that is kept for pods alone is looked at again.
const recount = 10 * time.Second

func (c *Controller) snapshot(ctx context.Context) (Snapshot, error) {
	var policies api.PartitionPolicyList
	var nodes corev1.NodeList
	var partitions api.NodePartitionList
	var sets api.ResourceSetList
	for _, list := range []client.ObjectList{&policies, &nodes, &partitions, &sets} {
		// Judge changes nothing and writes go to copies, so a cache need not
		// copy a whole cluster for each round.
		if err := c.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return Snapshot{}, fmt.Errorf("list %T: %w", list, err)
		}
	}
	s := Snapshot{Nodes: nodes.Items, Partitions: partitions.Items, Sets: sets.Items, Now: metav1.NewTime(c.config.Clock.Now())}
	if c.config.Charged != nil {
		charged, known := c.config.Charged()
		s.Charged, s.Unsure = charged, !known
	}
	for _, p := range policies.Items {
		if p.DeletionTimestamp.IsZero() {
			s.Policies = append(s.Policies, p)
		}
	}
	return s, nil
}
