// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"os"
)

var errCrash = errors.New("crash")

// crashing is a disk that stops at its n-th operation and stays stopped. What
// was not made durable before is then lost, or kept, as `lose` says: both can
// happen on a real machine.
type crashing struct {
	disk Disk
	n    int // operations left before the crash
	lose bool

	dirty   map[string]bool // files with content that is not durable
	undo    []func() error  // takes back entries that are not durable
	crashed bool
}

func newCrashing(n int, lose bool) *crashing {
	return &crashing{n: n, lose: lose, dirty: map[string]bool{}}
}

// step counts one operation and crashes at the last.
func (c *crashing) step() error {
	if c.crashed {
		return errCrash
	}
	if c.n == 0 {
		c.crashed = true
		if c.lose {
			c.forget()
		}
		return errCrash
	}
	c.n--
	return nil
}

// forget loses what is not durable: half of the content of dirty files, and
// renames, newest first.
func (c *crashing) forget() {
	for path := range c.dirty {
		if info, err := os.Stat(path); err == nil {
			_ = os.Truncate(path, info.Size()/2)
		}
	}
	for i := len(c.undo) - 1; i >= 0; i-- {
		_ = c.undo[i]()
	}
}

func (c *crashing) Create(path string) (File, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	f, err := c.disk.Create(path)
	c.dirty[path] = true
	return &crashingFile{c, f, path}, err
}

func (c *crashing) Rename(from, to string) error {
	if err := c.step(); err != nil {
		return err
	}
	old, oldErr := os.ReadFile(to)
	if err := c.disk.Rename(from, to); err != nil {
		return err
	}
	if c.dirty[from] {
		delete(c.dirty, from)
		c.dirty[to] = true
	}
	c.undo = append(c.undo, func() error {
		if oldErr != nil {
			return os.Rename(to, from)
		}
		return os.WriteFile(to, old, 0o600)
	})
	return nil
}

func (c *crashing) SyncDir(dir string) error {
	if err := c.step(); err != nil {
		return err
	}
	c.undo = nil
	return c.disk.SyncDir(dir)
}

type crashingFile struct {
	c    *crashing
	f    File
	path string
}

func (f *crashingFile) Write(p []byte) (int, error) {
	if err := f.c.step(); err != nil {
		n, _ := f.f.Write(p[:len(p)/2]) // torn
		return n, err
	}
	return f.f.Write(p)
}

func (f *crashingFile) Sync() error {
	if err := f.c.step(); err != nil {
		return err
	}
	delete(f.c.dirty, f.path)
	return f.f.Sync()
}

func (f *crashingFile) Close() error {
	return errors.Join(f.c.step(), f.f.Close())
}
