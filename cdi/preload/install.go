// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Installed is where the limiter's files lie in a folder of the host.
type Installed struct {
	// Library is one file per build and never changes: processes have it mapped.
	Library string
	// Hook is replaced by an upgrade; it runs for a moment only.
	Hook string
	// List has the line that loads the library.
	List string
}

// Names of the files in the image and in the folder.
const (
	libraries = "libaipub-*.so"
	hookName  = "aipub-cdi-hook"
	listName  = "ld.so.preload"
)

// Install copies the library and the hook from an image's folder to one of the
// host's, where containers and their runtime find them. inside is the library's
// path in containers. Libraries of earlier builds stay.
func Install(from, to, inside string) (Installed, error) {
	found, err := filepath.Glob(filepath.Join(from, libraries))
	if err != nil {
		return Installed{}, fmt.Errorf("find limiter: %w", err)
	}
	if len(found) != 1 {
		return Installed{}, fmt.Errorf("find limiter: %d files %s in %s, want one", len(found), libraries, from)
	}
	in := Installed{
		Library: filepath.Join(to, filepath.Base(found[0])),
		Hook:    filepath.Join(to, hookName),
		List:    filepath.Join(to, listName),
	}
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // containers read what is in it
		return Installed{}, fmt.Errorf("install limiter: %w", err)
	}
	return in, errors.Join(
		put(found[0], in.Library),
		put(filepath.Join(from, hookName), in.Hook),
		write(in.List, []byte(inside+"\n"), 0o644),
	)
}

// Builds are the build IDs of the libraries in a folder, this one and those of
// earlier installations, in hex. One that has none is left out.
func Builds(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, libraries))
	if err != nil {
		return nil, fmt.Errorf("list limiters: %w", err)
	}
	var ids []string
	for _, f := range files {
		if id := buildID(f); id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// buildID reads the ELF note that the linker writes (elf(5), NT_GNU_BUILD_ID).
func buildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	note, err := s.Data()
	const name = 12 // sizes and type; then the owner's name, "GNU" and a zero
	if err != nil || len(note) < name+4 || string(note[name:name+3]) != "GNU" {
		return ""
	}
	return hex.EncodeToString(note[name+4:])
}

func put(from, to string) error {
	data, err := os.ReadFile(from) //nolint:gosec // the image's own
	if err != nil {
		return fmt.Errorf("install limiter: %w", err)
	}
	return write(to, data, 0o755)
}

// write replaces a file by one with other content, in one step. One with the
// same content stays the file that it is.
func write(path string, data []byte, mode os.FileMode) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, data) { //nolint:gosec // a folder of ours
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
