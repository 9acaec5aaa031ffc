// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/reclaim"
)

func newWorkspacePause(a *app) *cobra.Command {
	wait, dryRun := false, dryRunNone
	cmd := &cobra.Command{
		Use:   "pause NAME...",
		Short: "Give back the set and keep the work",
		Long: `Give back the set of a Workspace and keep the work: its volumes, and with save:
Commit the container's own file system as well. If that cannot be saved, it stays up
and holds its set, and saving is tried again.

` + boundHelp,
		Example: `  kubectl aipub workspace pause kim --wait
  kubectl aipub workspace pause deployment/editor notebook/kim -n lab`,
		ValidArgsFunction: a.completeBound,
		Args:              names,
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until its set is free, and show how it gets there.")
	dryRunFlag(cmd, &dryRun, dryRunServer)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkDryRun(dryRun, dryRunServer); err != nil {
			return err
		}
		return a.each(cmd.Context(), args, func(ctx context.Context, c *cluster, b *bound) (*bound, error) {
			return a.pause(ctx, c, b, dryRun)
		}, waitFor(wait, dryRun, hasPaused))
	}
	return cmd
}

func (a *app) pause(ctx context.Context, c *cluster, b *bound, dryRun string) (*bound, error) {
	switch {
	case b.isPaused() && b.object.GetAnnotations()[api.PauseAnnotation] != "false":
		return nil, a.say("%s is paused already%s", b.ref, b.pausedWords())
	case b.Phase == phaseStopped:
		return nil, a.say("%s holds nothing: somebody has stopped it", b.ref)
	case b.pauseAsked():
		return b, a.say("%s is being paused already", b.ref)
	}
	next, err := a.patch(ctx, c, b, b.pausePatch(true), dryRun)
	if err != nil {
		return nil, refused(b.ref, "patch", "paused", err)
	}
	return next, a.say("%s is being paused%s%s", b.ref, a.pauseKeeps(ctx, c, b), dryRunWords(dryRun))
}

// pauseAsked reports whether it is to be paused, or is.
func (b *bound) pauseAsked() bool {
	if b.workspace != nil {
		return b.workspace.Spec.Paused
	}
	return b.object.GetAnnotations()[api.PauseAnnotation] == "true"
}

// pausePatch asks for a pause, or for a resume.
func (b *bound) pausePatch(pause bool) map[string]any {
	if b.workspace != nil {
		return map[string]any{"spec": map[string]any{"paused": pause}}
	}
	return annotated(map[string]any{api.PauseAnnotation: fmt.Sprint(pause)})
}

// pausedWords say since when it is paused, and why.
func (b *bound) pausedWords() string {
	if b.Pause == nil {
		return ""
	}
	return fmt.Sprintf(", since %s: %s", timeWords(b.Pause.At), byWords(b.Pause.Reason, b.Pause.By))
}

// pauseKeeps says what a pause keeps, as far as its rules can be read.
func (a *app) pauseKeeps(ctx context.Context, c *cluster, b *bound) string {
	if b.workspace == nil {
		return "; its volumes are kept"
	}
	return "; kept: " + keepsWords(b.workspace, a.knownRules(ctx, c, b))
}

// keepsWords are what a pause keeps by the rules that bind a Workspace; nil where they
// are not known.
func keepsWords(w *api.Workspace, rules *reclaim.Rules) string {
	keeps := "nothing"
	if w.Spec.Home != nil || len(w.Spec.Volumes) > 0 {
		keeps = "its volumes"
	}
	files := "its file system"
	switch {
	case w.Spec.Save == api.SaveCommit:
	case rules == nil:
		return keeps + "; its file system only where a ReclaimPolicy says so"
	case rules.Save == api.SaveCommit:
		files += " (" + rules.SavePolicy + ")"
	case keeps == "nothing":
		return "nothing: it has no volume"
	default:
		return keeps
	}
	if keeps == "nothing" {
		return files
	}
	return keeps + ", " + files
}
