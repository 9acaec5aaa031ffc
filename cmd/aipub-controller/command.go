// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// run parses the arguments and carries out the command that they name.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	root := newRootCommand(stderr)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

func newRootCommand(logs io.Writer) *cobra.Command {
	o := defaultOptions()
	root := &cobra.Command{
		Use:   "aipub-controller",
		Short: "Admission webhooks and ResourceSets of AIPub",
		Long: "aipub-controller expands the sets that pods ask for, refuses what contradicts them, and turns\n" +
			"PartitionPolicies into ResourceSets. Every replica serves webhooks; the elected leader writes.",
		Example: "  # in the cluster, as the chart runs it\n" +
			"  aipub-controller --namespace aipub-system --webhook-service aipub-webhook\n\n" +
			"  # on a laptop against the current cluster, without taking part in the election\n" +
			"  aipub-controller --kubeconfig ~/.kube/config --leader-elect=false\n\n" +
			"  # before the last trace of AIPub leaves a cluster\n" +
			"  aipub-controller cleanup --timeout 10m",
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runController(cmd.Context(), o, logs)
		},
	}
	o.connection.bind(root.PersistentFlags())
	o.bind(root.Flags())
	root.AddCommand(newCleanupCommand(&o.connection), newVersionCommand())
	return root
}

func newCleanupCommand(c *connection) *cobra.Command {
	timeout, namespace := 10*time.Minute, defaultOptions().namespace
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove webhook configurations, scheduling gates and aipub.io/set-… from Node status",
		Long: "cleanup deletes AIPub's webhook configurations and opens every gate that is still closed, then takes the aipub.io/set-… names off every Node,\n" +
			"then deletes the leader election's Lease. Run it after the node agents are gone. The kubelet lets go of a name 5 minutes after its plugin stopped.",
		Example: "  aipub-controller cleanup --timeout 10m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return fmt.Errorf("flag --timeout: %s: must be above zero, for example 10m", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return runCleanup(ctx, *c, namespace, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&namespace, "namespace", namespace, "namespace that the controller ran in")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait for the kubelets to let go")
	return cmd
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "aipub-controller", version)
			return err
		},
	}
}
