// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

var reclaimPolicyKind = boundKind{api.GroupVersion.WithKind("ReclaimPolicy"), "reclaimpolicies"}

// rulesOf are what the ReclaimPolicies bind somebody's workload to, as the controller
// works it out.
func (a *app) rulesOf(ctx context.Context, from lister, b *bound) (reclaim.Rules, error) {
	items, err := a.listKind(ctx, from, reclaimPolicyKind, "")
	if err != nil {
		return reclaim.Rules{}, err
	}
	policies := make([]api.ReclaimPolicy, len(items))
	for i := range items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &policies[i]); err != nil {
			return reclaim.Rules{}, fmt.Errorf("read ReclaimPolicy %s: %w", items[i].GetName(), err)
		}
	}
	return reclaim.Bind(policies, reclaim.Who{User: b.User, Project: b.Project}), nil
}

// knownRules are rulesOf, or nil where they cannot be read: few users may.
func (a *app) knownRules(ctx context.Context, from lister, b *bound) *reclaim.Rules {
	rules, err := a.rulesOf(ctx, from, b)
	if err != nil {
		return nil
	}
	return &rules
}

// rulesWords are the rules in words, each with its policy.
func rulesWords(r reclaim.Rules) string {
	var words []string
	add := func(policy, format string, args ...any) {
		words = append(words, fmt.Sprintf(format, args...)+" ("+policy+")")
	}
	if r.Limit > 0 {
		add(r.LimitTerms.Policy, "%s at most", hours(r.Limit))
	}
	if r.Idle.After > 0 {
		add(r.IdleTerms.Policy, "%s idle", hours(r.Idle.After))
	}
	if len(words) == 0 {
		return "none limits it"
	}
	add(r.ExtensionPolicy, "its user may add %s", hours(r.Extension))
	return strings.Join(words, ", ")
}

// hours is a duration as the flags take it, to the minute: 8h, 1h30m, 45m.
func hours(d time.Duration) string {
	h, m := d/time.Hour, d%time.Hour/time.Minute
	switch {
	case m == 0:
		return fmt.Sprintf("%dh", h)
	case h == 0:
		return fmt.Sprintf("%dm", m)
	}
	return fmt.Sprintf("%dh%dm", h, m)
}
