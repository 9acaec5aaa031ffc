// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

// watchClock is how often the machine's clock is compared.
const watchClock = time.Second

// Steps moves all clocks when the machine's was set. Only the elected leader runs it.
type Steps struct {
	engine *Engine
	// live reads and writes past any cache: what is moved must be what is there.
	live   client.Client
	others []*Others
}

// NewSteps makes a Steps for Workspaces and other kinds.
func NewSteps(engine *Engine, live client.Client, others []*Others) *Steps {
	return &Steps{engine: engine, live: live, others: others}
}

// Start watches the machine's clock until the context ends.
func (s *Steps) Start(ctx context.Context) error {
	tick := time.NewTicker(watchClock)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if step := s.engine.config.Clock.Step(); step != 0 {
				s.move(ctx, step)
			}
		}
	}
}

// move moves all deadlines by a step, and then the engine's clock. Nothing is decided
// meanwhile; what was read before is refused by the API server when it is written.
func (s *Steps) move(ctx context.Context, step time.Duration) {
	log := logr.FromContextOrDiscard(ctx)
	log.Info("The machine's clock was set; all deadlines move with it", "by", step.String(), "reason", api.ReasonClockStepped)
	s.engine.steady.Lock()
	defer s.engine.steady.Unlock()
	for {
		n, err := s.moveAll(ctx, step)
		if err == nil {
			log.Info("Deadlines have moved", "by", step.String(), "workloads", n)
			s.engine.moved(step)
			return
		}
		log.Error(err, "Move deadlines")
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchClock):
		}
	}
}

// done remembers what was moved by this step already, should it be tried again.
type done map[string]bool

func (s *Steps) moveAll(ctx context.Context, step time.Duration) (int, error) {
	if s.engine.shifted == nil {
		s.engine.shifted = done{}
	}
	shifted := s.engine.shifted
	var list api.WorkspaceList
	if err := s.live.List(ctx, &list); err != nil {
		return 0, fmt.Errorf("list workspaces: %w", err)
	}
	for i := range list.Items {
		w := &list.Items[i]
		if w.Status.Occupancy == nil || shifted[string(w.UID)] {
			continue
		}
		if err := s.moveWorkspace(ctx, w, step); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("move the clock of workspace %s/%s: %w", w.Namespace, w.Name, err)
		}
		shifted[string(w.UID)] = true
	}
	for _, o := range s.others {
		if err := o.move(ctx, shifted, step); err != nil {
			return 0, err
		}
	}
	return len(shifted), nil
}

func (s *Steps) moveWorkspace(ctx context.Context, w *api.Workspace, step time.Duration) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.live.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil || w.Status.Occupancy == nil {
			return err
		}
		after := w.DeepCopy()
		moved := reclaim.Shift(*w.Status.Occupancy, step)
		if equality.Semantic.DeepEqual(moved, *w.Status.Occupancy) {
			return nil
		}
		after.Status.Occupancy = &moved
		return s.live.Status().Patch(ctx, after, client.MergeFromWithOptions(w, client.MergeFromWithOptimisticLock{}))
	})
}

// move moves the clocks of one kind.
func (o *Others) move(ctx context.Context, shifted done, step time.Duration) error {
	items, err := o.list(ctx)
	if err != nil {
		return err
	}
	for i := range items {
		is := items[i].DeepCopy()
		if shifted[string(is.UID)] || is.Annotations[api.OccupancyAnnotation] == "" {
			continue
		}
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			var occupancy api.Occupancy
			if err := o.live.Get(ctx, client.ObjectKeyFromObject(is), is); err != nil || !read(is, api.OccupancyAnnotation, &occupancy) {
				return err
			}
			return o.patchClock(ctx, is, reclaim.Shift(occupancy, step))
		})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("move the clock of %s %s/%s: %w", o.GroupVersionKind.Kind, is.Namespace, is.Name, err)
		}
		shifted[string(is.UID)] = true
	}
	return nil
}

// moved has the engine's own times follow.
func (e *Engine) moved(step time.Duration) {
	e.config.Clock.Follow(step)
	e.shifted = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.startedAt.IsZero() {
		e.startedAt = e.startedAt.Add(step)
	}
	if !e.counted.IsZero() {
		e.counted = e.counted.Add(step)
	}
}
