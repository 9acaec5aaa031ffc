// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	// nodeField is the field of a snapshot by which the API server selects.
	nodeField = "spec.node"
	// sweepEach is how often images that nobody needs are looked for, and sweepSoon
	// when again after that did not work.
	sweepEach = time.Hour
	sweepSoon = 10 * time.Second
)

// Run follows the snapshots of the saver's node until ctx ends; saves under way are
// given up then, and say so. It returns an error when the cluster cannot be followed;
// call it again then, with the same saver.
func Run(ctx context.Context, rc *rest.Config, s *Saver) error {
	scheme := runtime.NewScheme()
	if err := api.AddToScheme(scheme); err != nil {
		return fmt.Errorf("register aipub kinds: %w", err)
	}
	mgr, err := ctrl.NewManager(rc, ctrl.Options{
		Scheme: scheme, Logger: s.config.Log,
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&api.WorkspaceSnapshot{}: {Field: fields.OneTermEqualSelector(nodeField, s.config.Node)},
		}},
	})
	if err != nil {
		return fmt.Errorf("create manager: %w", err)
	}
	again := true // a new manager replaces a failed one under the same name
	err = ctrl.NewControllerManagedBy(mgr).Named("snapshots").For(&api.WorkspaceSnapshot{}).
		// Two more than are saved at once, so that deletions do not wait for saves.
		WithOptions(controller.Options{MaxConcurrentReconciles: atOnce + 2, SkipNameValidation: &again}).
		Complete(s)
	if err != nil {
		return fmt.Errorf("set up snapshot controller: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(s.tidy)); err != nil {
		return fmt.Errorf("set up sweep: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("follow snapshots: %w", err)
	}
	return nil
}

// tidy lets go of what an earlier agent left, at once, and sweeps until ctx ends.
func (s *Saver) tidy(ctx context.Context) error {
	for {
		wait := sweepEach
		err := s.recover(ctx)
		if err == nil {
			err = s.Sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.config.Log.Error(err, "saved images could not be tidied up; trying again")
			wait = sweepSoon
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}
