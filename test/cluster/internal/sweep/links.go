// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Links removes the symbolic links in the folder that point below target.
func Links(folder, target string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if to, err := os.Readlink(path); err != nil || !within(to, target) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("remove link: %w", err)
		}
	}
	return nil
}
