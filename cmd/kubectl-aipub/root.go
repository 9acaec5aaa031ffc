// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// app is what all commands share.
type app struct {
	genericiooptions.IOStreams
	version string
	now     func() time.Time
	config  *genericclioptions.ConfigFlags
	// offline is a file to read instead of a cluster; "-" is standard input.
	offline string
	// screen is the size of the terminal that output goes to, and whether it is
	// one; wait returns after a time, or with the error of a context that ended.
	screen func() (rows, columns int, ok bool)
	wait   func(context.Context, time.Duration) error
}

func newApp(streams genericiooptions.IOStreams, version string, now func() time.Time) *app {
	return &app{
		IOStreams: streams,
		version:   version,
		now:       now,
		config:    genericclioptions.NewConfigFlags(true),
		screen:    func() (int, int, bool) { return screenOf(streams.Out) },
		wait:      wait,
	}
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// helpWidth is the number of columns that flags are explained in.
const helpWidth = 100

// rareFlags work as in kubectl but are left out of the help, where they would
// bury the others; kubectl options explains them.
var rareFlags = []string{
	"as", "as-group", "as-uid", "as-user-extra", "cache-dir", "certificate-authority",
	"client-certificate", "client-key", "disable-compression", "insecure-skip-tls-verify",
	"proxy-url", "tls-server-name", "token",
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-aipub",
		Short: "See and plan how GPU nodes are divided into sets, who has them and who waits",
		Long: `See and plan how GPU nodes are divided into sets of CPU, memory and GPU, how shares
of GPUs are used, who holds what, and who waits for it.

Every command only reads, but those that say so: queue move and queue promote change
the order of what waits, and workspace create, pause, resume and extend Workspaces. A
policy takes effect with kubectl apply.`,
		Example: `  # What is on the GPU nodes, and what is free
  kubectl aipub nodes
  kubectl aipub sets

  # How shares of GPUs are used at this moment
  kubectl aipub top

  # Who waits, and why a pod does
  kubectl aipub queue
  kubectl aipub why train-7-x2x9k -n vision

  # Who holds a set to work in, until when, and whether anybody uses it
  kubectl aipub workspace list -A

  # What a policy would do, before it is applied
  kubectl aipub plan -f policy.yaml`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl aipub"},
		Version:           a.versionInfo().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              a.knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	a.config.AddFlags(root.PersistentFlags())
	for _, name := range rareFlags {
		// The only error is a flag that does not exist.
		_ = root.PersistentFlags().MarkHidden(name)
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", helpWidth)))
	root.PersistentFlags().StringVar(&a.offline, "offline", "",
		"Read the cluster's objects from this file instead of a cluster, '-' for standard input; "+dumpHint)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newNodes(a), newSets(a), newTop(a), newQuota(a), newQueue(a), newWorkspace(a), newWhy(a), newPlan(a), newVersion(a), newCompletion(a))
	return root
}

// knownCommand refuses words that are no command, with the nearest that is.
func (a *app) knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s; the commands are %s",
		args[0], didYouMean(args[0], names), strings.Join(names, ", "))
}
