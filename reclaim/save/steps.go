// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

// The steps of a save, as status.step names them.
const (
	stepHook    = "Hook"
	stepMeasure = "Measure"
	stepCommit  = "Commit"
	stepPush    = "Push"
)

const (
	// commitTime bounds how long a container may stay frozen.
	commitTime = 30 * time.Minute
	pushTime   = time.Hour
	// shownOutput is how much of a hook's output a message shows, from its end.
	shownOutput = 512
)

// failure is why a snapshot failed.
type failure struct{ reason, message string }

func (f *failure) Error() string  { return f.message }
func (f *failure) Reason() string { return f.reason }

func fail(reason, format string, args ...any) error {
	return &failure{reason, fmt.Sprintf(format, args...)}
}

// save carries out a snapshot that nobody has begun, and says in its status how it went.
// The error is about the status only.
func (s *Saver) save(ctx context.Context, w *api.WorkspaceSnapshot) error {
	if err := s.begun(ctx, w); err != nil {
		return err
	}
	saved, err := s.steps(ctx, w)
	if err != nil {
		reason, message := s.why(ctx, err)
		s.config.Log.Info("snapshot failed", "namespace", w.Namespace, "snapshot", w.Name, "reason", reason, "message", message)
		return s.ended(ctx, w, func(status *api.WorkspaceSnapshotStatus) {
			status.Phase, status.Reason, status.Message = api.SnapshotFailed, reason, message
		})
	}
	return s.ended(ctx, w, func(status *api.WorkspaceSnapshotStatus) {
		status.Phase, status.Image, status.OnNode, status.Bytes = api.SnapshotSaved, saved.image, saved.onNode, saved.bytes
	})
}

// why is the reason and the message of what went wrong.
func (s *Saver) why(ctx context.Context, err error) (reason, message string) {
	if ctx.Err() != nil {
		return api.ReasonInterrupted, "the agent of node " + s.config.Node + " ended meanwhile"
	}
	var typed interface{ Reason() string }
	if errors.As(err, &typed) {
		return typed.Reason(), err.Error()
	}
	return api.ReasonRuntimeFailed, err.Error()
}

// saved is what a snapshot has become.
type saved struct {
	image  string
	onNode bool
	bytes  int64
}

func (s *Saver) steps(ctx context.Context, w *api.WorkspaceSnapshot) (saved, error) {
	if s.config.Containers == nil || s.config.Images == nil {
		return saved{}, fail(api.ReasonNotSupported, "the agent of node %s does not reach containerd; give it containerd's socket", s.config.Node)
	}
	if err := s.recover(ctx); err != nil {
		return saved{}, err
	}
	id, err := s.config.Containers.Find(ctx, w.Namespace, w.Spec.PodUID, w.Spec.Container)
	if err != nil {
		return saved{}, err
	}
	if w.Spec.Hook != nil {
		if err := s.hook(ctx, w, id); err != nil {
			return saved{}, err
		}
	}
	if !w.Spec.Commit {
		return saved{}, nil
	}
	if err := s.measure(ctx, w, id); err != nil {
		return saved{}, err
	}
	return s.commit(ctx, w, id)
}

func (s *Saver) hook(ctx context.Context, w *api.WorkspaceSnapshot, id string) error {
	if err := s.at(ctx, w, stepHook); err != nil {
		return err
	}
	timeout := time.Duration(w.Spec.Hook.TimeoutSeconds) * time.Second
	code, output, err := s.config.Containers.Exec(ctx, id, w.Spec.Hook.Command, timeout)
	if err != nil {
		return err
	}
	if code != 0 {
		output = strings.TrimSpace(output)
		if len(output) > shownOutput {
			output = "…" + strings.ToValidUTF8(output[len(output)-shownOutput:], "")
		}
		return fail(api.ReasonHookFailed, "beforePause %q ended with exit code %d: %s", w.Spec.Hook.Command, code, output)
	}
	return nil
}

// measure refuses what is too large before anything is written.
func (s *Saver) measure(ctx context.Context, w *api.WorkspaceSnapshot, id string) error {
	if w.Spec.MaxSize == nil || w.Spec.MaxSize.IsZero() {
		return nil
	}
	if err := s.at(ctx, w, stepMeasure); err != nil {
		return err
	}
	bytes, err := s.config.Containers.Measure(ctx, id)
	if err != nil {
		return err
	}
	if bytes > w.Spec.MaxSize.Value() {
		const mebibyte = 1 << 20
		held := resource.NewQuantity((bytes+mebibyte-1)/mebibyte*mebibyte, resource.BinarySI)
		return fail(api.ReasonTooLarge, "the container has written %s over its image, and %s may be saved; "+
			"move files to the home volume or delete them, or have maxSaveSize of the ReclaimPolicy raised", held, w.Spec.MaxSize)
	}
	return nil
}

func (s *Saver) commit(ctx context.Context, w *api.WorkspaceSnapshot, id string) (saved, error) {
	if err := s.at(ctx, w, stepCommit); err != nil {
		return saved{}, err
	}
	image := imageName(w)
	frozen, cancel := context.WithTimeout(ctx, commitTime)
	defer cancel()
	_, bytes, err := s.config.Images.Commit(frozen, id, image)
	if err != nil || s.config.Registry == nil {
		return saved{image: image, onNode: true, bytes: bytes}, err
	}
	if err := s.at(ctx, w, stepPush); err != nil {
		return saved{}, err
	}
	pushing, cancel := context.WithTimeout(ctx, pushTime)
	defer cancel()
	ref, err := s.config.Registry.Push(pushing, image, place(w))
	return saved{image: ref, bytes: bytes}, err
}
