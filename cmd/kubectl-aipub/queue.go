// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "aipub.io/aipub/api/v1alpha1"
)

func newQueue(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "queue [PROJECT]",
		Aliases: []string{"queues", "priorityqueues", "pq"},
		Short:   "Show who waits, in order, and why; move or promote one",
		Long: `Show the workloads that wait for their sets, in the order in which they go, each
with the reason.

With a project, its queue; else all, in the order in which their turns come among
the projects. REASON is what the decision that opens gates says at this moment.

That takes the permission to list pods and what decisions look at. Without the
permission to list all pods, the front that the controller has written into the
PriorityQueue is shown.`,
		Example: `  # The queue of a project
  kubectl aipub queue vision

  # Whom a promotion would delay, before it is done
  kubectl aipub queue promote vision/job/train-7 --dry-run`,
		ValidArgsFunction: a.completeProjects,
		Args:              a.oneProject,
	}
	out := addPlainOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		project := ""
		if len(args) > 0 {
			project = args[0]
		}
		return a.queue(cmd.Context(), project, out)
	}
	cmd.AddCommand(newQueueMove(a), newQueuePromote(a))
	return cmd
}

// oneProject refuses more than one argument.
func (a *app) oneProject(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%d projects are given; %s takes one, or none for all%s", len(args), cmd.CommandPath(),
			didYouMean(args[0], []string{"move", "promote"}))
	}
	return nil
}

func (a *app) queue(ctx context.Context, project string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	d, err := a.queueDocument(ctx, from, project)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if table, _ := out.table(); table {
		if len(d.Waiting) > 0 {
			err = out.rows(queueTable(d, a.now()), &b)
		}
	} else {
		err = out.document(d, &b)
	}
	if err != nil {
		return fmt.Errorf("print queue: %w", err)
	}
	if err := a.show(&b); err != nil {
		return err
	}
	a.note(d.notes()...)
	return nil
}

// queueDocument is a queue from pods and workloads or, for who may not list those,
// from what the controller wrote.
func (a *app) queueDocument(ctx context.Context, from lister, project string) (*queueDoc, error) {
	q, err := a.readQueues(ctx, from)
	if apierrors.IsForbidden(err) {
		return a.writtenQueue(ctx, from, project, err)
	}
	if err != nil {
		return nil, err
	}
	if err := knownProject(project, q.projects()); err != nil {
		return nil, err
	}
	return q.document(project), nil
}

// knownProject refuses a project that has neither a queue nor a managed pod.
func knownProject(project string, known []string) error {
	if project == "" || slices.Contains(known, project) {
		return nil
	}
	return fmt.Errorf("project %q has no PriorityQueue and no pod that asks for a set%s%s", project, didYouMean(project, known),
		orNothing("; those that have are ", known))
}

// orNothing is the words with a list behind, or nothing when the list is empty.
func orNothing(words string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	const most = 20
	if len(list) > most {
		return words + strings.Join(list[:most], ", ") + ", …"
	}
	return words + strings.Join(list, ", ")
}

// writtenQueue is the front of the queues as PriorityQueues have it.
func (a *app) writtenQueue(ctx context.Context, from lister, project string, why error) (*queueDoc, error) {
	var objects api.PriorityQueueList
	if err := from.List(ctx, &objects); err != nil {
		return nil, errors.Join(explain(why), explain(err))
	}
	d := newQueueDoc("PriorityQueue")
	d.Notes = append(d.Notes, fmt.Sprintf("%v; so this is what the controller last wrote, the first 50 of each project", explain(why)))
	var known []string
	for i := range objects.Items {
		o := &objects.Items[i]
		known = append(known, o.Name)
		if project == "" || o.Name == project {
			d.addFront(o)
		}
	}
	if project != "" && !slices.Contains(known, project) {
		return nil, fmt.Errorf("project %q has no PriorityQueue%s, and its pods cannot be read: %w", project, didYouMean(project, known), explain(why))
	}
	return d, nil
}

// completeProjects offers the projects that have a queue.
func (a *app) completeProjects(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeNames(func() nameList { return &api.PriorityQueueList{} })(cmd, args, prefix)
}
