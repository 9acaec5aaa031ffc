// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "aipub.io/aipub/api/v1alpha1"
)

// lastWords is how long an agent that ends may take to say so in a snapshot.
const lastWords = 5 * time.Second

// insist is how an end is written to an API server that does not answer: a save should
// not have been in vain for that.
var insist = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Steps: 8}

// write changes a snapshot's status, unless another has written since it was read.
func (s *Saver) write(ctx context.Context, w *api.WorkspaceSnapshot, change func(*api.WorkspaceSnapshotStatus)) error {
	before := w.DeepCopy()
	change(&w.Status)
	return s.client.Status().Patch(ctx, w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// begun says that a snapshot is being carried out.
func (s *Saver) begun(ctx context.Context, w *api.WorkspaceSnapshot) error {
	now := metav1.NewTime(s.config.Now())
	return s.write(ctx, w, func(status *api.WorkspaceSnapshotStatus) {
		status.Phase, status.StartedAt = api.SnapshotSaving, &now
	})
}

// at says which step a snapshot has come to. It stops a save that another has ended: the
// controller, for a pod that is gone. A save does not depend on being seen, otherwise.
func (s *Saver) at(ctx context.Context, w *api.WorkspaceSnapshot, step string) error {
	err := s.update(ctx, w, func(status *api.WorkspaceSnapshotStatus) { status.Step = step })
	if err != nil && !errors.Is(err, errEnded) {
		s.config.Log.Error(err, "the step of a snapshot could not be written", "namespace", w.Namespace, "snapshot", w.Name, "step", step)
		return nil
	}
	return err
}

// errEnded: a snapshot is gone, is being deleted, or has been ended by another.
var errEnded = errors.New("the snapshot was ended by another")

// update changes the status of a snapshot that is being carried out, as it is now.
func (s *Saver) update(ctx context.Context, w *api.WorkspaceSnapshot, change func(*api.WorkspaceSnapshotStatus)) error {
	now := &api.WorkspaceSnapshot{}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(w), now); err != nil {
			if client.IgnoreNotFound(err) == nil {
				return errEnded
			}
			return err
		}
		if now.UID != w.UID || !now.DeletionTimestamp.IsZero() || now.Status.Phase != api.SnapshotSaving {
			return errEnded
		}
		return s.write(ctx, now, change)
	})
}

// ended says how a snapshot ended, also when this process is about to. Only what is
// saved on this node keeps its image here; where another has ended it, its word stands.
func (s *Saver) ended(ctx context.Context, w *api.WorkspaceSnapshot, change func(*api.WorkspaceSnapshotStatus)) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
	}
	finished := metav1.NewTime(s.config.Now())
	last := *w.Status.DeepCopy()
	last.FinishedAt = &finished
	change(&last)
	var err error
	gaveUp := wait.ExponentialBackoffWithContext(ctx, insist, func(ctx context.Context) (bool, error) {
		err = s.update(ctx, w, func(status *api.WorkspaceSnapshotStatus) {
			last.Step = status.Step
			*status = last
		})
		return err == nil || errors.Is(err, errEnded), nil
	})
	switch {
	case errors.Is(err, errEnded):
		return s.drop(ctx, w, last)
	case gaveUp != nil:
		return errors.Join(gaveUp, err) // it stays Saving, and is found Interrupted
	case last.OnNode:
		return nil
	}
	return s.dropLocal(ctx, w)
}

// interrupted ends a snapshot that an earlier agent began.
func (s *Saver) interrupted(ctx context.Context, w *api.WorkspaceSnapshot) error {
	if err := s.dropLocal(ctx, w); err != nil {
		return err
	}
	now := metav1.NewTime(s.config.Now())
	return s.write(ctx, w, func(status *api.WorkspaceSnapshotStatus) {
		status.Phase, status.FinishedAt = api.SnapshotFailed, &now
		status.Reason, status.Message = api.ReasonInterrupted, "the agent of node "+s.config.Node+" ended meanwhile"
	})
}
