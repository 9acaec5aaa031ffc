// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newWorkspaceList(a *app) *cobra.Command {
	all, user := false, ""
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List what ReclaimPolicies bind: who holds a set, until when, and why",
		Long: `List what ReclaimPolicies bind: Workspaces, and Deployments, StatefulSets and
Kubeflow Notebooks of type Workspace. The sentence below says how many of them hold
a set that nobody uses, and for how long.`,
		Example: `  kubectl aipub workspace list
  kubectl aipub workspace list -A --user kim -o wide`,
		Args: noArguments,
	}
	out := addPlainOutput(cmd)
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List those of all namespaces.")
	// As in kubectl create rolebinding, it hides the flag for the kubeconfig's user.
	cmd.Flags().StringVar(&user, "user", "", "List only those of this user, by the name that the API server knows.")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		namespace := a.namespace()
		if all {
			namespace = ""
		}
		return a.listWorkspaces(cmd.Context(), namespace, user, out)
	}
	return cmd
}

func (a *app) listWorkspaces(ctx context.Context, namespace, user string, out *output) error {
	from, err := a.source()
	if err != nil {
		return err
	}
	all, notes, err := a.readBound(ctx, from, namespace)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(b *bound) bool { return user != "" && b.User != user })
	d := newBoundDoc(all, a.now())
	var b bytes.Buffer
	table, _ := out.table()
	switch {
	case !table:
		err = out.document(d, &b)
	case len(all) > 0:
		err = out.rows(boundTable(all, a.now()), &b)
	}
	if err != nil {
		return fmt.Errorf("print workspaces: %w", err)
	}
	if err := a.show(&b); err != nil {
		return err
	}
	a.note(notes...)
	if len(all) == 0 {
		a.note(nothingBound(namespace, user))
	} else if table {
		a.note(d.ghostWords())
	}
	return nil
}

func nothingBound(namespace, user string) string {
	where, hint := "in any namespace", ""
	if namespace != "" {
		where, hint = "in namespace "+namespace, "; -A looks in all namespaces"
	}
	whose := ""
	if user != "" {
		whose = " of user " + user
	}
	return fmt.Sprintf("there is no Workspace%s %s, nor another workload of that type%s", whose, where, hint)
}

// completeBound offers what is bound in the namespace and is not given yet.
func (a *app) completeBound(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	from, err := a.source()
	if err != nil {
		return nil, none
	}
	all, _, err := a.readBound(cmd.Context(), from, a.namespace())
	if err != nil {
		return nil, none
	}
	var found []string
	for _, b := range all {
		if name := b.ref.typed(); strings.HasPrefix(name, prefix) && !slices.Contains(args, name) {
			found = append(found, name)
		}
	}
	return found, none
}

// completeOneBound is completeBound for commands that take one.
func (a *app) completeOneBound(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeBound(cmd, args, prefix)
}
