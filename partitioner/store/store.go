// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Config says where the record lies.
type Config struct {
	// Path of the file, for example /var/lib/aipub/partition.json. Its
	// directory is made when it is missing.
	Path string
	// Files default to Disk, Clock to the machine's.
	Files Files
	Clock clock.PassiveClock
}

// Store reads and replaces the record of one node. Only one process may use a
// path at a time.
type Store struct {
	config Config

	mu   sync.Mutex
	last []byte // durable content without SavedAt; nil when unknown
}

// Open prepares the directory. It reads nothing.
func Open(c Config) (*Store, error) {
	if c.Path == "" {
		return nil, errors.New("store: path is empty; give the file that keeps the partition record")
	}
	if c.Files == nil {
		c.Files = Disk{}
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	return &Store{config: c}, nil
}

// BadFileError says that the record could not be trusted and was moved aside.
// Start from the hardware: what Kubernetes holds must be learned from the
// kubelet.
type BadFileError struct {
	// Path of the record and Kept, where its file lies now. Kept is empty when
	// it could not be moved; it is then overwritten by the next Save.
	Path, Kept string
	// Err is ErrSyntax, ErrChecksum or ErrVersion, wrapped.
	Err error
}

// Error implements error.
func (e *BadFileError) Error() string {
	if e.Kept == "" {
		return fmt.Sprintf("read %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("read %s: %v; the file is kept as %s", e.Path, e.Err, e.Kept)
}

// Unwrap implements errors.Unwrap.
func (e *BadFileError) Unwrap() error { return e.Err }

// Load reads the record. Without a file the error is os.ErrNotExist, which is
// the first start of a node; a file that cannot be trusted is moved aside and
// gives a BadFileError; any other error is the disk's, and the file stays.
func (s *Store) Load() (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.config.Path
	data, err := os.ReadFile(path)
	if err != nil {
		return Record{}, fmt.Errorf("read record: %w", err)
	}
	r, err := decode(data)
	if err != nil {
		return Record{}, s.setAside(err)
	}
	// Of unknown durability: a rename may not have reached the disk. So the next
	// Save writes even if nothing changed.
	s.last = nil
	return r, nil
}

// setAside moves the bad file to a name of its own.
func (s *Store) setAside(cause error) error {
	bad := &BadFileError{Path: s.config.Path, Err: cause}
	stamp := s.config.Clock.Now().UTC().Format("20060102T150405")
	kept := fmt.Sprintf("%s.corrupt-%s", s.config.Path, stamp)
	for n := 1; exists(kept); n++ {
		kept = fmt.Sprintf("%s.corrupt-%s-%d", s.config.Path, stamp, n)
	}
	if err := s.config.Files.Rename(s.config.Path, kept); err != nil {
		bad.Err = errors.Join(cause, fmt.Errorf("move it aside: %w", err))
		return bad
	}
	bad.Kept = kept
	if err := s.config.Files.SyncDir(filepath.Dir(kept)); err != nil {
		bad.Err = errors.Join(cause, fmt.Errorf("move it aside: %w", err))
	}
	return bad
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// Save makes the record durable; when it returns nil, a crash cannot lose it.
// After an error the file has the old content or the new one. A record that
// equals the one saved last, but for SavedAt, is not written again; SavedAt is
// set here.
func (s *Store) Save(r Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.SavedAt = time.Time{}
	content, err := encode(r)
	if err != nil {
		return err
	}
	if s.last != nil && bytes.Equal(content, s.last) {
		return nil
	}
	r.SavedAt = s.config.Clock.Now().UTC()
	data, err := encode(r)
	if err != nil {
		return err
	}
	s.last = nil
	if err := replace(s.config.Files, s.config.Path, data); err != nil {
		return err
	}
	s.last = content
	return nil
}
