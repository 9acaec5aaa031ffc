// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota/queue"
)

const refHelp = `A workload is KIND/NAME, NAMESPACE/KIND/NAME as kubectl aipub queue prints it, or
the name of one of its pods.`

func newQueueMove(a *app) *cobra.Command {
	var before string
	var to int
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "move WORKLOAD (--before OTHER | --to PLACE)",
		Short: "Move a waiting workload to another place in its project's queue",
		Long: `Move a waiting workload to another place in its project's queue, and show whom that
delays. --dry-run shows it before anything is done.

` + refHelp + `

It takes the verb reorder on the project's PriorityQueue, promote as well where the
new place is before one that was promoted, and patch on the workload. What somebody
else changes at the same moment is not overwritten: the order is read anew.`,
		Example: `  kubectl aipub queue move vision/job/train-7 --before vision/job/train-3
  kubectl aipub queue move job/train-7 -n vision --to 1 --dry-run`,
		ValidArgsFunction: a.completeWaiting,
		Args:              oneWorkload,
	}
	out := addPlainOutput(cmd)
	cmd.Flags().StringVar(&before, "before", "", "Move it directly before this workload of the same project.")
	cmd.Flags().IntVar(&to, "to", 0, "Move it to this place, from 1.")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Only show what would change.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("before", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.completeWaiting(cmd, nil, prefix)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("before") == cmd.Flags().Changed("to") {
			return errors.New("give either --before OTHER or --to PLACE")
		}
		if err := out.check(); err != nil {
			return err
		}
		return a.change(cmd.Context(), dryRun, out, func(_ context.Context, _ lister, q *queues) (*change, error) {
			return a.moved(q, args[0], before, to)
		})
	}
	return cmd
}

func oneWorkload(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s are given; %s takes one", plural(len(args), "workload"), cmd.CommandPath())
	}
	return nil
}

// moved is a move within a project, before another workload or to a place.
func (a *app) moved(q *queues, what, before string, to int) (*change, error) {
	w, err := a.findWaiting(q, what)
	if err != nil {
		return nil, err
	}
	project := w.Party.Project
	c := &change{waiter: w, order: q.ofProject(project), scope: "project " + project}
	if before == "" {
		if to < 1 || to > len(c.order) {
			return nil, fmt.Errorf("--to %d: project %s has %s waiting; give 1 to %d", to, project, plural(len(c.order), "workload"), len(c.order))
		}
		c.effect, err = queue.MoveTo(c.order, w.Workload, to)
		return c, err
	}
	other, err := a.findWaiting(q, before)
	if err != nil {
		return nil, fmt.Errorf("--before: %w", err)
	}
	if other.Party.Project != project {
		return nil, fmt.Errorf("--before: %s is in project %s and %s in project %s; move orders one project's queue, promote goes before all projects",
			refOf(other.Workload), other.Party.Project, refOf(w.Workload), project)
	}
	c.effect, err = queue.MoveBefore(c.order, w.Workload, other.Workload)
	return c, err
}

func (a *app) findWaiting(q *queues, text string) (*waiter, error) {
	r, err := parseRef(text, a.namespace())
	if err != nil {
		return nil, err
	}
	w, err := q.find(r)
	if err != nil {
		return nil, err
	}
	if w.version == "" {
		return nil, fmt.Errorf("%s has pods that wait, but there is no such object any more; it has no place to change", refOf(w.Workload))
	}
	return w, nil
}

func newQueuePromote(a *app) *cobra.Command {
	var projectOnly, dryRun bool
	cmd := &cobra.Command{
		Use:   "promote WORKLOAD",
		Short: "Move a waiting workload to the front, before those of all projects",
		Long: `Move a waiting workload to the front, and show whom that delays: before the waiting
workloads of all projects if you may, else to the front of its project's queue,
behind those that were promoted. --dry-run shows it before anything is done.

` + refHelp + `

It takes the verb promote on all PriorityQueues, or reorder on the project's for the
front of the project only, and patch on the workload. The queue's turn comes first; quota
and room on nodes still have to be there.`,
		Example: `  kubectl aipub queue promote vision/job/train-7 --dry-run
  kubectl aipub queue promote train-7-x2x9k -n vision --project-only`,
		ValidArgsFunction: a.completeWaiting,
		Args:              oneWorkload,
	}
	out := addPlainOutput(cmd)
	cmd.Flags().BoolVar(&projectOnly, "project-only", false, "Move it to the front of its project's queue only.")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Only show what would change.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		return a.change(cmd.Context(), dryRun, out, func(ctx context.Context, from lister, q *queues) (*change, error) {
			return a.promoted(ctx, from, q, args[0], projectOnly)
		})
	}
	return cmd
}

// promoted is a promotion across projects where the caller may, else within one.
func (a *app) promoted(ctx context.Context, from lister, q *queues, what string, projectOnly bool) (*change, error) {
	w, err := a.findWaiting(q, what)
	if err != nil {
		return nil, err
	}
	if projectOnly {
		return firstOfProject(q, w)
	}
	target, online := from.(*cluster)
	if !online {
		return firstOfAll(q, w)
	}
	ask := right{verb: "promote", group: api.GroupVersion.Group, resource: "priorityqueues"}
	if ok, err := target.may(ctx, ask); err != nil || ok {
		if err != nil {
			return nil, err
		}
		return firstOfAll(q, w)
	}
	ask.verb, ask.name = "reorder", w.Party.Project
	if ok, err := target.may(ctx, ask); err != nil || !ok {
		if err != nil {
			return nil, err
		}
		return firstOfAll(q, w) // the error names the right that is missing
	}
	c, err := firstOfProject(q, w)
	if err == nil {
		c.notes = append(c.notes, "you may not promote across projects (promote on all priorityqueues.aipub.io), so it goes to the front of its project only")
	}
	return c, err
}

func firstOfAll(q *queues, w *waiter) (*change, error) {
	e, err := queue.Promote(q.order, w.Workload)
	return &change{waiter: w, order: q.order, effect: e, scope: "all projects", notes: q.notes}, err
}

// firstOfProject is the place behind the promoted of a project: only what other
// projects feel takes the right to promote.
func firstOfProject(q *queues, w *waiter) (*change, error) {
	if w.Promoted != "" {
		return nil, fmt.Errorf("%s was promoted already; kubectl aipub queue move changes its place", refOf(w.Workload))
	}
	c := &change{waiter: w, order: q.ofProject(w.Party.Project), scope: "project " + w.Party.Project}
	place := 1
	for _, it := range c.order {
		if it.Promoted != "" {
			place++
		}
	}
	var err error
	c.effect, err = queue.MoveTo(c.order, w.Workload, place)
	return c, err
}

// writeChange prints what changes, and whom it delays.
func writeChange(d *changeDoc, out *output, b *bytes.Buffer) error {
	if d.From == d.To {
		fmt.Fprintf(b, "%s: place %d of %s, as before\n", d.Workload, d.From, d.Scope)
	} else {
		fmt.Fprintf(b, "%s: place %d -> %d of %s\n", d.Workload, d.From, d.To, d.Scope)
	}
	t := columns("Delayed", "Project", "User", "Place", "Was", "+Created")
	for _, r := range d.Delayed {
		addRow(t, r.Workload, r.Project, r.User, strconv.Itoa(r.To), strconv.Itoa(r.From), r.Created.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if err := out.tables(b, t); err != nil {
		return err
	}
	switch {
	case d.Done:
		fmt.Fprintf(b, "\ndone\n")
	case d.DryRun:
		fmt.Fprintf(b, "\ndry run: nothing was changed\n")
	default:
		fmt.Fprintf(b, "\nnothing was changed\n")
	}
	return nil
}
