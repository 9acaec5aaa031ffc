// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

func newWorkspaceExtend(a *app) *cobra.Command {
	more, dryRun := time.Duration(0), dryRunNone
	cmd := &cobra.Command{
		Use:   "extend NAME --for DURATION",
		Short: "Let it hold its set for longer",
		Long: `Add time to the clock of what holds a set. It counts until it is paused: what is
resumed has a new clock. What is idle is kept from being paused for as long.

How much its user may add in all is maxExtensionHours of the ReclaimPolicy that
binds; more takes the verb extend on workspaces.aipub.io. Who added what is recorded.

` + boundHelp,
		Example: `  kubectl aipub workspace extend kim --for 8h
  kubectl aipub workspace extend deployment/editor --for 90m --dry-run=server`,
		ValidArgsFunction: a.completeOneBound,
		Args:              oneName,
	}
	cmd.Flags().DurationVar(&more, "for", 0, "How much time is added to what was added before, such as 8h or 90m.")
	dryRunFlag(cmd, &dryRun, dryRunServer)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if more < time.Minute {
			return fmt.Errorf("--for %s: give how much time is added, at least 1m, such as 8h or 90m", more)
		}
		if err := checkDryRun(dryRun, dryRunServer); err != nil {
			return err
		}
		return a.each(cmd.Context(), args, func(ctx context.Context, c *cluster, b *bound) (*bound, error) {
			return nil, a.extend(ctx, c, b, more.Truncate(time.Minute), dryRun)
		}, nil)
	}
	return cmd
}

// extend writes the time added in all, if nobody else has changed the object meanwhile;
// else it reads it anew, so that no extension is lost.
func (a *app) extend(ctx context.Context, c *cluster, b *bound, more time.Duration, dryRun string) error {
	rules, err := a.rulesOf(ctx, c, b)
	known := err == nil
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if known && !rules.Limited() {
		return a.say("%s may hold its set for as long as it wants: no ReclaimPolicy limits it; nothing was changed", b.ref)
	}
	for range attempts {
		if b.isPaused() || b.Pause != nil && b.Pause.FreedAt != nil { // a resume that is yet to be seen ends the clock, too
			return fmt.Errorf("%s is paused, and its clock starts anew when it is resumed; nothing was changed", b.ref)
		}
		before, err := reclaim.ParseExtend(b.object.GetAnnotations()[api.ExtendAnnotation])
		if err != nil {
			return fmt.Errorf("%s: annotation %w", b.ref, err)
		}
		total := time.Duration(before)*time.Second + more
		if _, err := reclaim.ParseExtend(total.String()); err != nil {
			return fmt.Errorf("%s has %s added already, and %s more is beyond what can be added in all, 99999h", b.ref, hours(total-more), hours(more))
		}
		changes := annotated(map[string]any{api.ExtendAnnotation: hours(total)})
		changes["metadata"].(map[string]any)["resourceVersion"] = b.object.GetResourceVersion() //nolint:forcetypeassert // annotated makes it
		_, err = a.patch(ctx, c, b, changes, dryRun)
		if err == nil {
			return a.say("%s%s%s%s", b.ref, b.extendedWords(more, total, rules, a.now()), totalWords(total, rules, known), dryRunWords(dryRun))
		}
		if !apierrors.IsConflict(err) {
			return refused(b.ref, "patch", "extended", err)
		}
		if b, err = a.getBound(ctx, c, b.ref); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s was changed by others %d times meanwhile; nothing was changed, try again", b.ref, attempts)
}

// extendedWords are the deadline before and after, as far as it is known: when it is
// idle it is kept from now on, else its clock has more time. Quiet hours put off what
// lies in them, and not what lies beyond.
func (b *bound) extendedWords(more, total time.Duration, rules reclaim.Rules, now time.Time) string {
	o := b.Occupancy
	if o == nil || o.ExpiresAt == nil {
		return fmt.Sprintf(": %s added; it was not due to be paused yet", hours(more))
	}
	then := o.ExpiresAt.Add(more)
	switch {
	case o.Reason == api.ReasonIdle:
		then = rules.IdleTerms.AfterQuiet(now.Add(more))
	case rules.Limit > 0 && o.Since != nil:
		clock := *o
		clock.Extensions = []api.Extension{{Seconds: int64(total / time.Second)}}
		then = rules.LimitTerms.AfterQuiet(reclaim.Clock(clock, rules.Limit))
	}
	if then.Before(o.ExpiresAt.Time) {
		then = o.ExpiresAt.Time
	}
	return fmt.Sprintf(": until %s -> %s, %s", timeWords(*o.ExpiresAt), timeWords(metav1.NewTime(then)), byWords(o.Reason, o.Policy))
}

// totalWords are how much was added in all, of how much its user may.
func totalWords(total time.Duration, r reclaim.Rules, known bool) string {
	words := fmt.Sprintf("; %s added in all", hours(total))
	if !known || r.ExtensionPolicy == "" {
		return words
	}
	return fmt.Sprintf("%s, of %s that its user may add (%s)", words, hours(r.Extension), r.ExtensionPolicy)
}
