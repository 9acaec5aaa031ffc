// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files are the file operations that a crash can fall between. Tests replace
// them; Disk is the real thing.
type Files interface {
	// Create opens a new or emptied file for writing, readable by root only.
	Create(path string) (File, error)
	// Rename replaces to by from.
	Rename(from, to string) error
	// SyncDir makes the directory's entries durable.
	SyncDir(dir string) error
}

// File is one file being written.
type File interface {
	io.WriteCloser
	// Sync makes the content durable.
	Sync() error
}

// Disk is the machine's file system.
type Disk struct{}

// Create implements Files.
func (Disk) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Rename implements Files.
func (Disk) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir implements Files.
func (Disk) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// replace writes a file so that a crash at any moment leaves the old content or
// the new one. An error means that the old content may still be there.
func replace(fs Files, path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := fs.Create(tmp)
	if err != nil {
		return fmt.Errorf("create %s: %w", tmp, err)
	}
	if err := writeAll(f, data); err != nil {
		return fmt.Errorf("write %s: %w", tmp, err)
	}
	if err := fs.Rename(tmp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := fs.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync directory of %s: %w", path, err)
	}
	return nil
}

// writeAll writes, syncs and closes.
func writeAll(f File, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
