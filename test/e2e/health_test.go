//go:build e2e

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestASickGPUIsNotOfferedUntilItIsWellAgain(t *testing.T) {
	expectAllocatable(t, wholeNode)
	t.Cleanup(func() { gpusim(t, "recovery-action", "2", "none") })
	gpusim(t, "recovery-action", "2", "reset")
	gpusim(t, "xid", "2", "79")
	expectAllocatable(t, map[string]int64{"large": 0, "small": 4, "mig-small": 4})
	eventually(t, 20*time.Second, "the NodePartition says why", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		for _, g := range s.GPUs {
			if g.Index == 2 && !g.Health.OK && g.Health.Reason != "" && g.Health.Message != "" {
				t.Logf("GPU 2: %s: %s", g.Health.Reason, g.Health.Message)
				return nil
			}
		}
		return fmt.Errorf("GPUs %+v", s.GPUs)
	})
	gpusim(t, "recovery-action", "2", "none")
	eventually(t, 2*time.Minute, "the GPU is offered again", func(ctx context.Context) error {
		n, err := allocatable(ctx, "large")
		if err == nil && n != 1 {
			return fmt.Errorf("large: %d", n)
		}
		return err
	})
}

func TestAPolicyChangeWaitsForWhoIsThereAndCleansUpAfterItself(t *testing.T) {
	expectAllocatable(t, wholeNode)
	start(t, pod("holder", "small"))
	running(t, "holder")
	t.Cleanup(func() {
		mustKubectl(t, "apply", "-f", "testdata/policy.yaml")
		expectAllocatable(t, wholeNode)
	})
	mustKubectl(t, "apply", "-f", "testdata/policy-whole.yaml")
	eventually(t, 30*time.Second, "GPU 0 keeps its cut for its holder", func(ctx context.Context) error {
		s, err := partition(ctx)
		if err != nil {
			return err
		}
		for _, c := range s.Conditions {
			if c.Type == api.ConditionReady && c.Reason == api.ReasonWaitingForIdle {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v", s.Conditions)
	})
	expectAllocatable(t, map[string]int64{"large": 2, "mig-small": 0})
	remove(t, pod("holder", "small"))
	expectAllocatable(t, map[string]int64{"large": 3})
}
