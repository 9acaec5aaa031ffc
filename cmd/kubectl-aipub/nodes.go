// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
)

func newNodes(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "nodes [NAME...]",
		Aliases: []string{"node"},
		Short:   "Show the GPUs of the nodes, how they are cut, and what is free",
		Long: `Show the GPUs of the nodes, how they are cut, and how many sets of each are free.

Without names: one line per GPU of every node that has an agent or that a
PartitionPolicy selects. With names: everything about these nodes, each slice and
who holds it. -o wide: one line per slice. -o json and -o yaml give the
NodePartition objects.

STATUS is Ready, or a reason that a note below the table explains.`,
		Example: `  # All nodes
  kubectl aipub nodes

  # One node with each of its slices and who holds it
  kubectl aipub nodes gpu-01

  # The slices that containers hold, on all nodes
  kubectl aipub nodes -o wide | grep Held`,
		ValidArgsFunction: a.completeNames(func() nameList { return &api.NodePartitionList{} }),
	}
	out := addObjectOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := out.check(); err != nil {
			return err
		}
		return a.nodes(cmd.Context(), names, out)
	}
	return cmd
}

func (a *app) nodes(ctx context.Context, names []string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	var f facts
	notes, err := gather(ctx, from,
		[]runtime.Object{&f.partitions},
		[]runtime.Object{&f.nodes, &f.policies})
	if err != nil {
		return err
	}
	a.note(notes...)
	views, missing := pickNodes(nodeViews(f), names, f.nodes.Items != nil)
	if table, wide := out.table(); !table {
		err = a.nodeObjects(views, len(names) == 1, out)
	} else if len(views) > 0 {
		err = a.nodeTables(views, len(names) > 0 && !wide, out)
	} else if len(names) == 0 {
		a.note("no agent has reported on a node and no PartitionPolicy selects one; label the GPU nodes and apply a policy that selects the label")
	}
	if err != nil {
		return err
	}
	return missing
}

// nodeObjects prints the NodePartitions, one alone where one was asked for.
func (a *app) nodeObjects(views []nodeView, single bool, out *output) error {
	list := &api.NodePartitionList{Items: []api.NodePartition{}}
	for _, v := range views {
		if v.partition == nil {
			a.note(v.verdict.sentence)
			continue
		}
		list.Items = append(list.Items, *v.partition)
	}
	if single {
		if len(list.Items) == 0 {
			return nil
		}
		return out.object(&list.Items[0], a.Out)
	}
	list.SetGroupVersionKind(api.GroupVersion.WithKind("NodePartitionList"))
	return out.list(list, a.Out)
}

// nodeTables prints the nodes for people, and why those are not ready that are
// not.
func (a *app) nodeTables(views []nodeView, detail bool, out *output) error {
	if detail {
		return a.describeNodes(views, out)
	}
	t := nodeTable(views)
	if _, wide := out.table(); wide {
		t = sliceTable(views, true, a.now())
	}
	if err := out.rows(t, a.Out); err != nil {
		return err
	}
	for _, v := range views {
		if !v.verdict.ready {
			a.note(v.verdict.sentence)
		}
	}
	return nil
}

// nodeViews joins what is known of each node, sorted by name: the nodes with an
// agent's report and those that a policy selects.
func nodeViews(f facts) []nodeView {
	views := map[string]nodeView{}
	for i := range f.partitions.Items {
		np := &f.partitions.Items[i]
		views[np.Name] = nodeView{name: np.Name, partition: np}
	}
	for i := range f.nodes.Items {
		n := &f.nodes.Items[i]
		v := views[n.Name]
		v.name, v.node, v.policies = n.Name, n, selecting(f.policies.Items, n)
		views[n.Name] = v
	}
	var out []nodeView
	for _, v := range views {
		v.verdict = judge(v, f.nodes.Items != nil)
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b nodeView) int { return strings.Compare(a.name, b.name) })
	return out
}

// pickNodes are the nodes to show: those named, or all that concern AIPub. The
// error names the ones that do not exist.
func pickNodes(views []nodeView, names []string, nodesRead bool) ([]nodeView, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(views, func(v nodeView) bool {
			return v.partition == nil && len(v.policies) == 0
		}), nil
	}
	return byName(views, names, func(v nodeView) string { return v.name }, func(name string) error {
		if !nodesRead {
			return fmt.Errorf("node %q has no NodePartition; %s", name, agentHint(name))
		}
		var known []string
		for _, v := range views {
			known = append(known, v.name)
		}
		return fmt.Errorf("there is no node %q%s; kubectl aipub nodes lists those of AIPub", name, didYouMean(name, known))
	})
}
