// SPDX-License-Identifier: Apache-2.0

// Package checkpoint stops a process that uses GPUs, with all of its GPU memory on
// the host, and lets it go on. The driver does it (cuCheckpointProcess…, CUDA 12.8
// and newer); since this must be a program of its own, with libcuda in it, a small
// tool in C makes the calls. See NVIDIA's description of CUDA checkpointing for
// what the driver cannot checkpoint: memory shared between processes, for one.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// ToolFile is the tool's file name.
const ToolFile = "aipub-checkpoint"

// ErrUnable is that the driver, or the tool, cannot checkpoint processes.
var ErrUnable = errors.New("the GPU driver cannot checkpoint processes")

// Tool makes the driver's calls.
type Tool struct {
	// Path is the tool's.
	Path string
	// Library is the driver's libcuda.so.1; empty: the dynamic loader finds it.
	Library string
}

// The exit status of the tool when the driver cannot do it.
const unable = 3

// Probe asks whether the driver can; ErrUnable when not.
func (t Tool) Probe(ctx context.Context) error {
	_, err := t.run(ctx, "probe")
	return err
}

// Park stops a process, with its GPU memory on the host. The process is as before
// when it fails. Stopping waits up to 10 s for what is in flight; the copy takes as
// long as it takes.
func (t Tool) Park(ctx context.Context, pid int) error {
	state, err := t.run(ctx, "state", pid)
	if err == nil && state == "running" {
		_, err = t.run(ctx, "lock", pid)
	}
	if err == nil && state != "checkpointed" {
		if _, err = t.run(ctx, "checkpoint", pid); err != nil {
			_, undo := t.run(context.WithoutCancel(ctx), "unlock", pid)
			err = errors.Join(err, undo)
		}
	}
	if err != nil {
		return fmt.Errorf("checkpoint process %d: %w", pid, err)
	}
	return nil
}

// Restore lets a process go on that was parked, wholly or in part. It fails
// without a change where the GPU has no room for its memory.
func (t Tool) Restore(ctx context.Context, pid int) error {
	state, err := t.run(ctx, "state", pid)
	if err == nil && state == "checkpointed" {
		_, err = t.run(ctx, "restore", pid)
	}
	if err == nil && state != "running" {
		_, err = t.run(ctx, "unlock", pid)
	}
	if err != nil {
		return fmt.Errorf("restore process %d: %w", pid, err)
	}
	return nil
}

// run makes one call and returns what the tool printed.
func (t Tool) run(ctx context.Context, verb string, pid ...int) (string, error) {
	var args []string
	if t.Library != "" {
		args = append(args, "-l", t.Library)
	}
	args = append(args, verb)
	for _, p := range pid {
		args = append(args, strconv.Itoa(p))
	}
	out, err := exec.CommandContext(ctx, t.Path, args...).Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return strings.TrimSpace(string(out)), nil
	case errors.As(err, &exit) && exit.ExitCode() == unable:
		return "", fmt.Errorf("%w: %s", ErrUnable, strings.TrimSpace(string(exit.Stderr)))
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return "", errors.New(strings.TrimSpace(string(exit.Stderr)))
	default:
		return "", fmt.Errorf("run %s: %w", t.Path, err)
	}
}
