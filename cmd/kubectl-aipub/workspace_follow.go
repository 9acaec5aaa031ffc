// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "aipub.io/aipub/api/v1alpha1"
)

// pollEvery is how often --wait looks.
const pollEvery = time.Second

// arrived reports whether what --wait waits for is there; the error says that it will
// not come.
type arrived func(*bound) (bool, error)

// follow prints the phases that something goes through, each with its reason, until it
// has arrived. When the context ends it says that the thing itself goes on.
func (a *app) follow(ctx context.Context, c *cluster, b *bound, there arrived) error {
	last := ""
	for {
		if line := b.phaseLine(); line != "" && line != last {
			last = line
			if err := a.say("%s: %s", b.ref, line); err != nil {
				return err
			}
		}
		done, err := there(b)
		if done || err != nil {
			return err
		}
		if err := a.wait(ctx, pollEvery); err != nil {
			return a.leave(b, err)
		}
		next, err := a.getBound(ctx, c, b.ref)
		switch {
		case ctx.Err() != nil:
			return a.leave(b, ctx.Err())
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s was deleted meanwhile", b.ref)
		case err != nil:
			return err
		}
		b = next
	}
}

func (a *app) leave(b *bound, err error) error {
	a.note(fmt.Sprintf("%s goes on without this command; see %s", b.ref, b.ref.command("show")))
	return err
}

// phaseLine is where it is and why, in one line; empty while the controller has not
// looked at what is written.
func (b *bound) phaseLine() string {
	if b.Phase == "" || !b.isSeen() {
		return ""
	}
	line := b.Phase
	if b.Phase == string(api.PhaseRunning) && b.Node != "" {
		line += " on node " + b.Node
	}
	if b.Reason != "" && b.Reason != b.Phase {
		line += ": " + b.Reason
	}
	if b.Message != "" {
		line += ": " + b.Message
	}
	return line
}

// isSeen reports whether the controller's status is about the object as it is now.
func (b *bound) isSeen() bool {
	if b.workspace != nil {
		return b.workspace.Status.ObservedGeneration >= b.workspace.Generation
	}
	return b.object.GetAnnotations()[api.PauseAnnotation] != "false"
}

// isRunning is where a Workspace goes that is created or resumed.
func isRunning(b *bound) (bool, error) {
	if w := b.workspace; w != nil && w.Spec.Paused {
		return false, fmt.Errorf("%s was paused meanwhile", b.ref)
	}
	if !b.isSeen() {
		return false, nil
	}
	switch b.Phase {
	case string(api.PhaseFailed):
		return false, fmt.Errorf("%s does not run; see %s", b.ref, b.ref.command("logs"))
	case phasePausing:
		return false, fmt.Errorf("%s was paused meanwhile", b.ref)
	}
	return b.Phase == string(api.PhaseRunning), nil
}

// hasPaused is where one goes that is paused: its set is free.
func hasPaused(b *bound) (bool, error) {
	switch {
	case b.workspace == nil && b.isPaused():
		return b.Pause.FreedAt != nil, nil
	case b.isPaused():
		return true, nil
	case !b.pauseAsked():
		return false, fmt.Errorf("%s was resumed meanwhile", b.ref)
	}
	return false, nil
}
