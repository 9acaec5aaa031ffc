// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// workspaceContainer is the one container of a Workspace's pod.
const workspaceContainer = "workspace"

// logOptions are the flags that say what of a log is shown.
type logOptions struct {
	follow, previous bool
	tail             int64 // lines from its end; -1 for all
}

func newWorkspaceLogs(a *app) *cobra.Command {
	var o logOptions
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what a Workspace's container has written",
		Example: `  kubectl aipub workspace logs kim --tail 20 -f

  # Why it ended before it was started again
  kubectl aipub workspace logs kim --previous`,
		ValidArgsFunction: a.completeOneBound,
		Args:              oneName,
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "Go on until Ctrl-C.")
	cmd.Flags().Int64Var(&o.tail, "tail", -1, "Only so many lines from the end.")
	cmd.Flags().BoolVarP(&o.previous, "previous", "p", false, "Of the container before it was started again.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.tail < -1 {
			return fmt.Errorf("--tail %d: give a number of lines, or -1 for all", o.tail)
		}
		return a.logs(cmd.Context(), args[0], o)
	}
	return cmd
}

func (a *app) logs(ctx context.Context, text string, o logOptions) error {
	c, err := a.writable()
	if err != nil {
		return err
	}
	b, err := a.findBound(ctx, c, text)
	if err != nil {
		return err
	}
	if b.workspace == nil {
		return fmt.Errorf("%s is no Workspace, and which of its containers is meant is not known; use kubectl logs %s -n %s", b.ref, b.ref.typed(), b.Namespace)
	}
	client, err := c.clientFor(corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	request := client.Get().Namespace(b.Namespace).Resource("pods").Name(b.Name+"-0").SubResource("log").Param("container", workspaceContainer).
		Param("follow", strconv.FormatBool(o.follow)).Param("previous", strconv.FormatBool(o.previous))
	if o.tail >= 0 {
		request = request.Param("tailLines", strconv.FormatInt(o.tail, 10))
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return noLog(b, err)
	}
	defer body.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(a.Out, body); err != nil {
		if ctx.Err() != nil && o.follow {
			return nil // Ctrl-C is how one leaves a log
		}
		return fmt.Errorf("read log of %s: %w", b.ref, err)
	}
	return nil
}

// noLog says why there is no log.
func noLog(b *bound, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return lacks([]right{{verb: "get", resource: "pods/log", namespace: b.Namespace}})
	case b.isPaused():
		return fmt.Errorf("%s is paused, so it has no container; start it again: %s", b.ref, b.ref.command("resume"))
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s has no container yet: %s", b.ref, orElse(b.phaseLine(), "its controller has not looked at it"))
	case apierrors.IsBadRequest(err):
		return fmt.Errorf("%s has no such log: %w", b.ref, err)
	}
	return fmt.Errorf("read log of %s: %w", b.ref, err)
}
