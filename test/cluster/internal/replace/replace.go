// SPDX-License-Identifier: Apache-2.0

// Package replace writes files that other programs watch or read at any time.
package replace

import (
	"bytes"
	"fmt"
	"os"
)

// File gives the file this content, in one step and only if it has another one:
// kube-proxy ends when its configuration file is touched.
func File(path string, content []byte, mode os.FileMode) error {
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, content) {
		return nil
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temp, content, mode); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return fmt.Errorf("write file: %w", err)
	}
	return nil
}
