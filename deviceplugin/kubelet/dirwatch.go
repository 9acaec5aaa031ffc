// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
)

// watchDir calls wake when kubelet.sock or one of our sockets appears in or
// disappears from a directory, and when notifications may have been lost. It
// watches until ctx ends. The returned channel is closed when the watch has
// ended for another reason, such as the directory's removal.
func watchDir(ctx context.Context, dir string, wake func()) (<-chan struct{}, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch plugin directory: %w", err)
	}
	if err := w.Add(dir); err != nil {
		w.Close() //nolint:errcheck // the first error counts
		return nil, fmt.Errorf("watch plugin directory: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer w.Close() //nolint:errcheck // only read from
		defer wake()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-w.Events:
				name := filepath.Base(e.Name)
				if !ok || filepath.Clean(e.Name) == filepath.Clean(dir) && e.Has(fsnotify.Remove|fsnotify.Rename) {
					return
				}
				if (name == kubeletSocket || ours(name)) && e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
					wake()
				}
			case _, ok := <-w.Errors: // the queue ran over: something was lost
				if !ok {
					return
				}
				wake()
			}
		}
	}()
	return ended, nil
}
