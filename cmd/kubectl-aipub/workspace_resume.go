// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	api "aipub.io/aipub/api/v1alpha1"
)

func newWorkspaceResume(a *app) *cobra.Command {
	wait, fromImage, dryRun := false, false, dryRunNone
	cmd := &cobra.Command{
		Use:   "resume NAME...",
		Short: "Start what is paused, with its work and a new clock",
		Long: `Start what is paused, with its work. It waits in the queue if its set is taken. Its
clock starts anew: the whole time that its ReclaimPolicies allow.

` + boundHelp,
		Example: `  kubectl aipub workspace resume kim --wait

  # Without the file system that was saved, if that is broken or lost; volumes stay
  kubectl aipub workspace resume kim --from-image`,
		ValidArgsFunction: a.completeBound,
		Args:              names,
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until it runs, and show what it waits for.")
	cmd.Flags().BoolVar(&fromImage, "from-image", false, "Start from the image, not from the file system that was saved last.")
	dryRunFlag(cmd, &dryRun, dryRunServer)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkDryRun(dryRun, dryRunServer); err != nil {
			return err
		}
		return a.each(cmd.Context(), args, func(ctx context.Context, c *cluster, b *bound) (*bound, error) {
			return a.resume(ctx, c, b, fromImage, dryRun)
		}, waitFor(wait, dryRun, isRunning))
	}
	return cmd
}

func (a *app) resume(ctx context.Context, c *cluster, b *bound, fromImage bool, dryRun string) (*bound, error) {
	changes, words, err := b.resumption(fromImage)
	if err != nil {
		return nil, err
	}
	if changes == nil {
		return b, a.say("%s", words)
	}
	next, err := a.patch(ctx, c, b, changes, dryRun)
	if err != nil {
		return nil, refused(b.ref, "patch", "resumed", err)
	}
	return next, a.say("%s%s", words, dryRunWords(dryRun))
}

// resumption is what to write for a resume, and what is said then. Nothing is to be
// written for what runs already, or is about to.
func (b *bound) resumption(fromImage bool) (changes map[string]any, words string, err error) {
	w := b.workspace
	switch {
	case w == nil:
		return b.otherResumption(fromImage)
	case !b.isPaused() && fromImage && w.Status.Phase != api.PhaseFailed:
		return nil, "", fmt.Errorf("%s is not paused (%s), so it starts from nothing now; pause it first", b.ref, orElse(b.Phase, "not started"))
	case !w.Spec.Paused && w.Status.Phase != api.PhaseFailed, !w.Spec.Paused && !fromImage:
		return nil, fmt.Sprintf("%s is not paused: %s", b.ref, orElse(b.phaseLine(), "it starts")), nil
	case !b.isPaused() && w.Status.Phase != api.PhaseFailed:
		return b.pausePatch(false), fmt.Sprintf("%s goes on: its pause is called off", b.ref), nil
	}
	changes, words = b.start(fromImage)
	return changes, words, nil
}

// start is the change that starts a Workspace, and from what.
func (b *bound) start(fromImage bool) (changes map[string]any, words string) {
	changes, words = b.pausePatch(false), fmt.Sprintf("%s starts again", b.ref)
	w := b.workspace
	switch saved := w.Status.Saved; {
	case saved == nil || saved.BaseImage != w.Spec.Image:
		return changes, words + ", from image " + w.Spec.Image
	case fromImage:
		changes["metadata"] = annotated(map[string]any{api.FromImageAnnotation: saved.Snapshot})["metadata"]
		return changes, fmt.Sprintf("%s, from image %s and not from what was saved at %s", words, w.Spec.Image, timeWords(saved.At))
	case w.Annotations[api.FromImageAnnotation] == saved.Snapshot:
		return changes, words + ", from image " + w.Spec.Image
	default:
		return changes, words + ", with the file system that was saved at " + timeWords(saved.At)
	}
}

func (b *bound) otherResumption(fromImage bool) (changes map[string]any, words string, err error) {
	asked := b.object.GetAnnotations()[api.PauseAnnotation]
	switch {
	case fromImage:
		return nil, "", fmt.Errorf("%s always starts from its image: only of Workspaces file systems are saved; leave --from-image out", b.ref)
	case b.Phase == phaseStopped && b.Kind == "Notebook":
		return nil, "", fmt.Errorf("%s was stopped by somebody else; start it where you stopped it, or take the annotation %s away", b.ref, notebookStopped)
	case b.Phase == phaseStopped:
		return nil, "", fmt.Errorf("%s has 0 replicas, and not because it was paused; start it with kubectl scale %s -n %s --replicas=1", b.ref, b.ref.typed(), b.Namespace)
	case asked == "false":
		return nil, fmt.Sprintf("%s is being resumed already", b.ref), nil
	case b.isPaused():
		return b.pausePatch(false), fmt.Sprintf("%s starts again", b.ref), nil
	case asked == "true":
		return b.pausePatch(false), fmt.Sprintf("%s goes on: its pause is called off", b.ref), nil
	}
	return nil, fmt.Sprintf("%s is not paused: %s", b.ref, b.phaseLine()), nil
}
