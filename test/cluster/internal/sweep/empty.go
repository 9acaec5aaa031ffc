// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Empty removes all in the folder but the entries named keep. It refuses to
// work while anything is mounted below, whose files it would delete.
func Empty(folder string, keep ...string) error {
	mounts, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if within(m.point, folder) {
			return fmt.Errorf("empty %s: %s is still mounted", folder, m.point)
		}
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("empty folder: %w", err)
	}
	for _, entry := range entries {
		if slices.Contains(keep, entry.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("empty folder: %w", err)
		}
	}
	return nil
}
