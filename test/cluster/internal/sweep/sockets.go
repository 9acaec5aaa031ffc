// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// DeadSockets removes the sockets in the folder on which nobody listens. The
// folder's other users keep theirs, and none is missed by anyone.
func DeadSockets(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list sockets: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if entry.Type() != os.ModeSocket || !refused(path) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	return nil
}

func refused(path string) bool {
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

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
