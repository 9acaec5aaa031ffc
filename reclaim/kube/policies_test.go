// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// TestLimitsAsTheyAreWritten has policies come, change and go beside a Workspace.
func TestLimitsAsTheyAreWritten(t *testing.T) {
	c := start(t)
	c.play(t)
	defer c.control(t, nil)()
	for name, hours := range map[string]int32{"too-many": 100_000, "negative": -1} {
		p := policy(0)
		p.Name, p.Spec.MaxOccupancyHours = name, hours
		if err := c.Create(t.Context(), p); err == nil || !strings.Contains(err.Error(), "spec.maxOccupancyHours") {
			t.Errorf("%d hours: %v", hours, err)
		}
	}
	// What Go cannot read must not be stored: one such policy would keep all from being read.
	for field, value := range map[string]any{"warnBefore": []any{"soon"}, "maxSaveSize": "1e99999999999999999999"} {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"scope": map[string]any{"everyone": true}, field: value}}}
		u.SetGroupVersionKind(api.GroupVersion.WithKind("ReclaimPolicy"))
		u.SetName("unreadable")
		if err := c.Create(t.Context(), u); err == nil || !strings.Contains(err.Error(), "spec."+field) {
			t.Errorf("%s %v: %v", field, value, err)
		}
	}
	c.create(t, newWorkspace("lab"))
	c.phase(t, "lab", api.PhaseRunning)
	since := c.workspace(t, "lab").Status.Occupancy.Since.Time
	expires := func(what string, hours int32, by string) {
		t.Helper()
		eventually(t, what, func() error {
			o := c.workspace(t, "lab").Status.Occupancy
			switch {
			case o == nil:
				return fmt.Errorf("no clock")
			case hours == 0 && (o.ExpiresAt != nil || o.Reason != api.ReasonNoLimit):
				return fmt.Errorf("it expires at %v, %s", o.ExpiresAt, o.Reason)
			case hours > 0 && (o.ExpiresAt == nil || !o.ExpiresAt.Time.Equal(since.Add(time.Duration(hours)*time.Hour)) || o.Policy != by):
				return fmt.Errorf("it expires at %v by %s", o.ExpiresAt, o.Policy)
			}
			return nil
		})
	}
	limit := func(name string, scope api.ReclaimScope, hours int32) *api.ReclaimPolicy {
		p := policy(0)
		p.Name, p.Spec.Scope, p.Spec.MaxOccupancyHours = name, scope, hours
		c.create(t, p)
		return p
	}
	everyone := limit("everyone", api.ReclaimScope{Everyone: true}, 99_999)
	expires("the longest limit", 99_999, "everyone")
	alice := limit("alice", api.ReclaimScope{User: "alice"}, 24)
	expires("two on one user", 24, "alice")
	limit("others", api.ReclaimScope{User: "bob"}, 1)
	limit("none", api.ReclaimScope{Project: "vision"}, 0)
	expires("no limit loosens none", 24, "alice")
	before := everyone.DeepCopy()
	everyone.Spec.MaxOccupancyHours = 1
	if err := c.Patch(t.Context(), everyone, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	expires("changed while it runs", 1, "everyone")
	for _, p := range []*api.ReclaimPolicy{everyone, alice} {
		if err := c.Delete(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	expires("the policies are deleted", 0, "")
	if w := c.workspace(t, "lab"); w.Spec.Paused {
		t.Errorf("it was paused: %+v", w.Status.Pause)
	}
}
