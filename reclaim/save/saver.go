// SPDX-License-Identifier: Apache-2.0

package save

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	api "aipub.io/aipub/api/v1alpha1"
)

const (
	// atOnce is how many containers are saved at the same time: each takes a core and
	// the disk for itself.
	atOnce = 2
	// lookAgain is when one that had to wait is looked at again.
	lookAgain = 2 * time.Second
)

// Containers are those that run on this node. Errors may have a Reason() string, one of
// the reasons of api.WorkspaceSnapshotStatus.
type Containers interface {
	// Find returns the id of a container that runs.
	Find(ctx context.Context, podNamespace, podUID, container string) (string, error)
	// Exec runs a command in it, and returns its exit code and the end of its output.
	Exec(ctx context.Context, id string, command []string, timeout time.Duration) (int, string, error)
	// Measure returns how many bytes it has over its base image.
	Measure(ctx context.Context, id string) (int64, error)
}

// Images are those that this node holds, by full name.
type Images interface {
	// Commit saves a container as an image, and returns its digest and the size of the
	// one layer over its base, compressed. After an error there is no image.
	Commit(ctx context.Context, container, image string) (string, int64, error)
	// Remove drops an image; one that is not there is no error.
	Remove(ctx context.Context, image string) error
	// List returns the names that begin with a prefix.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Registry is where images go so that other nodes have them.
type Registry interface {
	// Push brings an image of the node there as PATH:TAG, and returns it by digest.
	Push(ctx context.Context, image, as string) (string, error)
	// Delete removes what Push returned; what is not there is no error.
	Delete(ctx context.Context, digest string) error
}

// Config says for which node snapshots are carried out, and with what.
type Config struct {
	// Node is the name of this node.
	Node string
	Log  logr.Logger
	// Containers and Images are nil where the agent cannot reach the runtime: every
	// snapshot fails as NotSupported then.
	Containers Containers
	Images     Images
	// Recover lets go of what an earlier agent left half done; nil for nothing. No
	// container is saved before it has succeeded once.
	Recover func(context.Context) error
	// Registry is nil where saved images stay on the node.
	Registry Registry
	// Now is the time; nil for the machine's.
	Now func() time.Time
}

// Saver carries out snapshots. It outlives the watch that calls it.
type Saver struct {
	client client.Client
	config Config

	mu      sync.Mutex
	busy    map[string]bool      // containers that are being saved
	orphans map[string]time.Time // images that no snapshot needs, and since when

	recovering sync.Mutex
	recovered  bool
}

// New makes a Saver that reads and writes through c, which must not read from a cache.
func New(c client.Client, config Config) *Saver {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Saver{client: c, config: config, busy: map[string]bool{}, orphans: map[string]time.Time{}}
}

// Reconcile does for one snapshot what is to be done now. It returns when a save is
// done, which may take as long as its hook.
func (s *Saver) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	w := &api.WorkspaceSnapshot{}
	if err := s.client.Get(ctx, req.NamespacedName, w); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	done := w.Status.Phase == api.SnapshotSaved || w.Status.Phase == api.SnapshotFailed
	if w.Spec.Node != s.config.Node || done && w.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if !s.take(w) {
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	defer s.give(w)
	err := s.next(ctx, w)
	if apierrors.IsConflict(err) { // another wrote meanwhile: look at what it says now
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("carry out snapshot %s: %w", req.NamespacedName, err)
	}
	return reconcile.Result{}, nil
}

func (s *Saver) next(ctx context.Context, w *api.WorkspaceSnapshot) error {
	switch {
	case !w.DeletionTimestamp.IsZero():
		return s.release(ctx, w)
	case w.Status.Phase == api.SnapshotSaving:
		return s.interrupted(ctx, w)
	}
	return s.save(ctx, w)
}

// take reports whether a snapshot's container is not being saved and there is room for
// one more; give it back then. A deletion needs no room.
func (s *Saver) take(w *api.WorkspaceSnapshot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[container(w)] || w.DeletionTimestamp.IsZero() && len(s.busy) >= atOnce {
		return false
	}
	s.busy[container(w)] = true
	return true
}

func (s *Saver) give(w *api.WorkspaceSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.busy, container(w))
}

func container(w *api.WorkspaceSnapshot) string { return w.Spec.PodUID + "/" + w.Spec.Container }

// imagePrefix is where the images of snapshots are named.
const imagePrefix = "aipub.io/workspaces/"

// place is the name of a snapshot's image below imagePrefix or a registry.
func place(w *api.WorkspaceSnapshot) string {
	return w.Namespace + "/" + w.Spec.Workspace + ":" + w.Name
}

func imageName(w *api.WorkspaceSnapshot) string { return imagePrefix + place(w) }
