// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

// EventRecorder tells the cluster what happened to an object.
type EventRecorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// Clock says what time it is; see reclaim/kube for how it meets steps of the machine's.
type Clock interface {
	Now() time.Time
}

// Reclaimer keeps the clock of Workspaces and says when one is to be paused.
type Reclaimer interface {
	// Step tells a Workspace's user what is due, and returns what is to be written and
	// done. pod is the one that holds its set, or nil.
	Step(ctx context.Context, w *api.Workspace, pod *corev1.Pod) (Verdict, error)
	// Forget drops what is remembered of a Workspace that is gone.
	Forget(uid types.UID)
}

// Verdict is what a Reclaimer says of a Workspace.
type Verdict struct {
	// Occupancy is its clock as it is to be written.
	Occupancy *api.Occupancy
	// Pause is the pause that is due; nil for none. Told tells of it, once it is written.
	Pause *api.Pause
	Told  func()
	// SaveFailed tells those who keep the policies that its work could not be saved; nil
	// for nobody.
	SaveFailed func(text string)
	// DropExtend: the time that was added belongs to a clock that has ended.
	DropExtend bool
	// Save is what is to be saved before a pause.
	Save SaveTerms
	// After is when to look again; zero is never.
	After time.Duration
}

// Config are the settings of a Controller.
type Config struct {
	Clock     Clock
	Reclaimer Reclaimer
	// Live reads from the API server itself; nil reads as everything else.
	Live   client.Reader
	Events EventRecorder
	// Workers is how many Workspaces are looked at at once; 0 is 8.
	Workers int
}

// Controller keeps Workspaces as [Next] says. Only the elected leader runs it.
type Controller struct {
	client client.Client
	config Config
}

// New makes a controller that reads and writes through c, which may read from a cache.
func New(c client.Client, config Config) *Controller {
	if config.Live == nil {
		config.Live = c
	}
	if config.Workers == 0 {
		config.Workers = 8
	}
	return &Controller{client: c, config: config}
}

// SetupWithManager has the manager call Reconcile whenever something of a Workspace
// changes.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	byLabel := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		name := o.GetLabels()[api.WorkspaceLabel]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
	})
	everyone := handler.EnqueueRequestsFromMapFunc(c.all)
	forget := handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		c.config.Reclaimer.Forget(e.Object.GetUID())
	}}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("workspaces").
		For(&api.Workspace{}).
		Watches(&api.Workspace{}, forget).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel).
		Watches(&corev1.Pod{}, byLabel).
		Watches(&api.WorkspaceSnapshot{}, byLabel).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(c.onNode), builder.WithPredicates(comesOrGoes)).
		Watches(&api.ReclaimPolicy{}, everyone, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: c.config.Workers}).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up workspace controller: %w", err)
	}
	return nil
}

// comesOrGoes is true where an object is made or deleted.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}

// all are the Workspaces of the cluster: a ReclaimPolicy may bind any of them.
func (c *Controller) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return c.those(ctx, func(*api.Workspace) bool { return true })
}

// onNode are the Workspaces that run on a node or have their file system saved there.
func (c *Controller) onNode(ctx context.Context, node client.Object) []reconcile.Request {
	return c.those(ctx, func(w *api.Workspace) bool {
		return w.Status.Node == node.GetName() || w.Status.Saved != nil && w.Status.Saved.Node == node.GetName()
	})
}

func (c *Controller) those(ctx context.Context, wanted func(*api.Workspace) bool) []reconcile.Request {
	var list api.WorkspaceList
	if err := c.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is stopping
	}
	out := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		if w := &list.Items[i]; wanted(w) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w)})
		}
	}
	return out
}

// soon is when a Workspace is looked at again that others wrote to meanwhile.
const soon = 100 * time.Millisecond

// Reconcile looks at one Workspace and does what is next. Each part that cannot be
// done is returned as an error and tried again; what others changed meanwhile is
// looked at again without one.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := c.look(ctx, req)
	if err != nil && onlyConflicts(err) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return result, err
}

func (c *Controller) look(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	w := &api.Workspace{}
	if err := c.client.Get(ctx, req.NamespacedName, w); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !w.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, c.leave(ctx, w) // what it owns goes with it
	}
	if err := c.hold(ctx, w); err != nil {
		return reconcile.Result{}, err
	}
	seen, err := c.see(ctx, w)
	if err != nil {
		return reconcile.Result{}, err
	}
	var verdict Verdict
	if seen.resumes() { // the clock that there is ended with the pause
		verdict.DropExtend = w.Annotations[api.ExtendAnnotation] != ""
	} else if verdict, err = c.config.Reclaimer.Step(ctx, w, seen.Pod); err != nil {
		return reconcile.Result{}, fmt.Errorf("keep the clock of workspace %s: %w", req.NamespacedName, err)
	}
	seen.Save = verdict.Save
	if verdict.Pause != nil && !w.Spec.Paused {
		return reconcile.Result{}, c.reclaim(ctx, w, verdict)
	}
	if verdict.DropExtend {
		return reconcile.Result{}, c.dropExtend(ctx, w)
	}
	plan := Next(seen)
	plan.Status.Occupancy = verdict.Occupancy
	if plan.Resumed {
		plan.Status.Occupancy = nil
	}
	if err := c.carryOut(ctx, seen, plan, verdict); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: sooner(plan.After, verdict.After)}, nil
}

// sooner is the shorter of two waits, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// carryOut does a plan, in an order in which a kill between any two steps leaves what
// the next look takes up: what must exist before it is noted, then the note, then what
// takes something away. What the API server will not take of its home, its Service or its
// StatefulSet is told to its user, and holds up nothing else, least of all a pause.
func (c *Controller) carryOut(ctx context.Context, s Seen, p Plan, v Verdict) error {
	if err := errors.Join(c.markLost(ctx, s, p), c.createSnapshot(ctx, s.Workspace, p)); err != nil {
		return err
	}
	refused, failed := split(c.keepHome(ctx, s), c.keepService(ctx, s.Workspace))
	after := s.Workspace.DeepCopy()
	after.Status = p.Status
	if p.Replicas > 0 && !p.Resumed { // before the note: whether it can run belongs in it
		more, err := split(c.keepRunner(ctx, after, s.Runner))
		refused, failed = errors.Join(refused, more), errors.Join(failed, err)
	}
	p.refuse(&s, refused)
	if err := c.writeStatus(ctx, s.Workspace, p.Status); err != nil {
		return errors.Join(failed, err)
	}
	c.tell(s.Workspace, p, v)
	switch {
	case p.Replicas == 0:
		failed = errors.Join(failed, c.stopRunner(ctx, s.Runner))
	case p.Resumed: // after the note, by which its clock is a new one
		failed = errors.Join(failed, c.keepRunner(ctx, after, s.Runner))
	}
	return errors.Join(failed, refused, c.prune(ctx, s.Workspace, p.Prune))
}

// split tells what the API server will never take as it is from what may work later.
func split(errs ...error) (refused, failed error) {
	for _, err := range errs {
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsAlreadyExists(err) || apierrors.IsBadRequest(err) {
			refused = errors.Join(refused, err)
		} else {
			failed = errors.Join(failed, err)
		}
	}
	return refused, failed
}

// tell lets its user know what was decided, once it is noted.
func (c *Controller) tell(w *api.Workspace, p Plan, v Verdict) {
	for _, e := range p.Events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		c.config.Events.Eventf(w, nil, kind, e.Reason, "Workspace", "%s", short(e.Message, longestNote))
		if e.Reason == api.ReasonSaveFailed && v.SaveFailed != nil {
			v.SaveFailed(e.Message)
		}
	}
}
