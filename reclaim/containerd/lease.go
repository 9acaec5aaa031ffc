// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"time"

	leases "github.com/containerd/containerd/api/services/leases/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"

	api "aipub.io/aipub/api/v1alpha1"
)

// Labels of the lease under which a container is saved. It has no end: who finds it
// afterwards must still learn whom to thaw.
const (
	containerLabel   = "aipub.io/saved-container"
	snapshotterLabel = "aipub.io/snapshotter"
)

// releaseTime is how long it may take to undo what was begun, also when the caller does
// not wait any more.
const releaseTime = time.Minute

// leaseOf is the name of a container's lease, and of the view of its base.
func leaseOf(container string) string { return "aipub-save-" + container }

// begin takes the lease of a container, after undoing what was left of an earlier one.
func (c *Client) begin(ctx context.Context, id, snapshotter string) error {
	if err := c.release(ctx, id, snapshotter); err != nil {
		return err
	}
	_, err := c.leases.Create(ctx, &leases.CreateRequest{ID: leaseOf(id), Labels: map[string]string{
		containerLabel: id, snapshotterLabel: snapshotter,
	}})
	if err != nil {
		return failed("take lease", err)
	}
	return nil
}

// release undoes what holds a container up and takes room: it thaws it, and drops the
// view of its base and what was written but is not part of an image. What is not there
// is no error. The lease goes last, so that release can be called again.
func (c *Client) release(ctx context.Context, id, snapshotter string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	lease, err := c.leases.List(ctx, &leases.ListRequest{Filters: []string{"id==" + leaseOf(id)}})
	if err != nil {
		return failed("look for lease", err)
	}
	if len(lease.Leases) == 0 {
		return nil
	}
	if err := c.thaw(ctx, id); err != nil {
		return err
	}
	_, err = c.snapshots.Remove(ctx, &snapshots.RemoveSnapshotRequest{Snapshotter: snapshotter, Key: leaseOf(id)})
	if err != nil && !notFound(err) {
		return failed("remove view of the base", err)
	}
	if _, err := c.leases.Delete(ctx, &leases.DeleteRequest{ID: leaseOf(id), Sync: true}); err != nil && !notFound(err) {
		return failed("give lease back", err)
	}
	return nil
}

// Recover thaws containers and drops what is half done of saves whose process is gone.
// Call it before the first Commit; it goes on after an error, so that one container does
// not keep others frozen.
func (c *Client) Recover(ctx context.Context) error {
	list, err := c.leases.List(ctx, &leases.ListRequest{})
	if err != nil {
		return failed("list leases", err)
	}
	var all error
	for _, lease := range list.Leases {
		if id := lease.Labels[containerLabel]; id != "" {
			all = errors.Join(all, c.release(ctx, id, lease.Labels[snapshotterLabel]))
		}
	}
	return all
}

// freeze stops all processes of a container where they are. It is not cut short, so that
// whether the container is frozen is known afterwards.
func (c *Client) freeze(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if _, err := c.tasks.Pause(ctx, &tasks.PauseTaskRequest{ContainerID: id}); err != nil {
		if alive, look := c.alive(ctx, id); look == nil && !alive {
			return because(api.ReasonContainerGone, "freeze container %s: it ended", id)
		}
		return failed("freeze container "+id, err)
	}
	return nil
}

// thaw lets the processes of a container go on. One that is not frozen, or gone, is no
// error.
func (c *Client) thaw(ctx context.Context, id string) error {
	got, err := c.tasks.Get(ctx, &tasks.GetRequest{ContainerID: id})
	if notFound(err) {
		return nil
	}
	if err != nil {
		return failed("look at container "+id, err)
	}
	if s := got.Process.Status; s != task.Status_PAUSED && s != task.Status_PAUSING {
		return nil
	}
	if _, err := c.tasks.Resume(ctx, &tasks.ResumeTaskRequest{ContainerID: id}); err != nil {
		return failed("thaw container "+id, err)
	}
	return nil
}
