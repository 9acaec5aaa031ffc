// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newWorkspace(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workspace",
		Aliases: []string{"workspaces", "ws"},
		Short:   "Create, list, pause, resume and extend Workspaces",
		Long: `Create, list, pause, resume and extend what ReclaimPolicies bind: Workspaces, and
Deployments, StatefulSets and Kubeflow Notebooks of type Workspace.

` + boundHelp,
		Example: `  # Who holds a set, until when and why
  kubectl aipub workspace list -A

  # A Jupyter server with a quarter of a GPU
  kubectl aipub workspace create kim --set small --image jupyter/pytorch-notebook \
    --port 8888 --home 50Gi --home-path /home/jovyan --fs-group 100 --wait

  # Give the set back and keep the work; go on the next morning
  kubectl aipub workspace pause kim
  kubectl aipub workspace resume kim --wait`,
		Args: a.knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorkspaceList(a), newWorkspaceShow(a), newWorkspaceCreate(a), newWorkspacePause(a), newWorkspaceResume(a),
		newWorkspaceExtend(a), newWorkspaceLogs(a))
	return cmd
}

// names refuses a command that is given no name.
func names(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no name is given; %s takes one or more, as kubectl aipub workspace list shows them", cmd.CommandPath())
	}
	return nil
}

// oneName refuses all but one name.
func oneName(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s are given; %s takes one, as kubectl aipub workspace list shows it", plural(len(args), "name"), cmd.CommandPath())
	}
	return nil
}
