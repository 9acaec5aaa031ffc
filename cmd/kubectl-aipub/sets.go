// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
)

func newSets(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sets [NAME...]",
		Aliases: []string{"set", "resourcesets", "rss"},
		Short:   "Show the sets: what one is, and how many are free",
		Long: `Show the sets: the resource to ask for, the CPU, memory and GPU of one, and how
many are free.

TOTAL counts a set as if no other were in use. Sets of different sizes share
GPUs, so taking one set can lower what is FREE of another.

With names: everything about these sets, with the counts of each node and what
the nodes could not hand out. -o wide adds policies, nodes and that remainder to
the table. -o json and -o yaml give the ResourceSet objects.`,
		Example: `  # All sets
  kubectl aipub sets

  # One set, node by node
  kubectl aipub sets small

  # The resource name alone, for a script
  kubectl aipub sets small -o jsonpath='{.spec.resourceName}'`,
		ValidArgsFunction: a.completeNames(func() nameList { return &api.ResourceSetList{} }),
	}
	out := addObjectOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := out.check(); err != nil {
			return err
		}
		return a.sets(cmd.Context(), names, out)
	}
	return cmd
}

func (a *app) sets(ctx context.Context, names []string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	table, wide := out.table()
	var f facts
	var may []runtime.Object
	if table {
		may = []runtime.Object{&f.policies, &f.partitions}
	}
	notes, err := gather(ctx, from, []runtime.Object{&f.sets}, may)
	if err != nil {
		return err
	}
	a.note(notes...)
	slices.SortFunc(f.sets.Items, func(a, b api.ResourceSet) int { return strings.Compare(a.Name, b.Name) })
	sets, missing := pickSets(f, names)
	if !table {
		list := &api.ResourceSetList{Items: sets}
		list.SetGroupVersionKind(api.GroupVersion.WithKind("ResourceSetList"))
		err = out.objects(list, len(names) == 1, a.Out)
	} else {
		err = a.setTables(sets, f, len(names) > 0 && !wide, out)
	}
	if err != nil {
		return err
	}
	return missing
}

func (a *app) setTables(sets []api.ResourceSet, f facts, detail bool, out *output) error {
	if len(sets) == 0 && !detail {
		a.note("there are no sets; a PartitionPolicy defines them, and kubectl get partitionpolicies says what became of it")
	}
	if detail {
		return a.describeSets(sets, f, out)
	}
	var b bytes.Buffer
	if err := out.rows(setTable(sets), &b); err != nil {
		return err
	}
	if _, wide := out.table(); wide {
		if err := out.tables(&b, remainderTable(f.partitions.Items)); err != nil {
			return err
		}
	}
	err := a.show(&b)
	a.note(setNotes(sets, f)...)
	return err
}

// pickSets are the sets named, or all. The error names those that do not exist,
// with what the policies say about them.
func pickSets(f facts, names []string) ([]api.ResourceSet, error) {
	return byName(f.sets.Items, trimPrefixes(f.sets.Items, names), func(s api.ResourceSet) string { return s.Name }, func(name string) error {
		for _, p := range f.policies.Items {
			for _, r := range p.Status.Rejections {
				if r.Set == name {
					return fmt.Errorf("there is no set %q: policy %s defines it, but %s", name, p.Name, r.Message)
				}
			}
		}
		var known []string
		for _, s := range f.sets.Items {
			known = append(known, s.Name)
		}
		return fmt.Errorf("there is no set %q%s; kubectl aipub sets lists those that exist", name, didYouMean(name, known))
	})
}

// trimPrefixes lets users give a set by its resource name as well, and in any
// case: names are lower-case. A set that is itself named set-… is found as it is.
func trimPrefixes(sets []api.ResourceSet, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		n = strings.TrimPrefix(strings.ToLower(n), api.ResourcePrefix)
		if !slices.ContainsFunc(sets, func(s api.ResourceSet) bool { return s.Name == n }) {
			n = strings.TrimPrefix(n, "set-")
		}
		out[i] = n
	}
	return out
}

// setNotes say why sets are not ready, why policies are not, and which sets these
// could not give.
func setNotes(sets []api.ResourceSet, f facts) []string {
	var notes []string
	for _, s := range sets {
		if c := meta.FindStatusCondition(s.Status.Conditions, api.ConditionReady); c != nil && !ready(s) {
			notes = append(notes, fmt.Sprintf("set %s is not ready: %s", s.Name, orElse(c.Message, c.Reason)))
		}
	}
	for _, p := range f.policies.Items {
		rejected := missingSets(p, f.sets.Items)
		c := meta.FindStatusCondition(p.Status.Conditions, api.ConditionReady)
		if c != nil && c.Status != metav1.ConditionTrue && len(rejected) == 0 {
			notes = append(notes, fmt.Sprintf("policy %s is not ready: %s", p.Name, orElse(c.Message, c.Reason)))
		}
		for _, line := range rejectionLines(rejected) {
			notes = append(notes, fmt.Sprintf("policy %s: %s", p.Name, line))
		}
	}
	return notes
}

// missingSets are a policy's rejections of sets that exist nowhere.
func missingSets(p api.PartitionPolicy, sets []api.ResourceSet) []api.Rejection {
	var out []api.Rejection
	for _, r := range p.Status.Rejections {
		if !slices.ContainsFunc(sets, func(s api.ResourceSet) bool { return s.Name == r.Set }) {
			out = append(out, r)
		}
	}
	return out
}
