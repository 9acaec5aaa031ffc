// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// key is a digest of all that decides what a build makes: the compiler, the
// flags and the module's files, by name and content.
func (s Set) key(goVersion, ldflags string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %q\n", goVersion, s.Packages, s.Tags, ldflags)
	for _, link := range slices.Sorted(maps.Keys(s.Links)) {
		fmt.Fprintf(sum, "%q -> %q\n", link, s.Links[link])
	}
	files, err := s.inputs()
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if err := addFile(sum, file); err != nil {
			return "", fmt.Errorf("digest sources of %s: %w", s.Name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// inputs lists, sorted, the files of the module that a build reads.
func (s Set) inputs() ([]string, error) {
	var files []string
	for _, pattern := range []string{"go.mod", "go.sum", "*.go"} {
		matches, err := filepath.Glob(filepath.Join(s.Source, pattern))
		if err != nil {
			return nil, fmt.Errorf("list sources of %s: %w", s.Name, err)
		}
		files = append(files, matches...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("list sources of %s: %s has no Go module", s.Name, s.Source)
	}
	slices.Sort(files)
	return files, nil
}

func addFile(sum io.Writer, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "%q %d\n", filepath.Base(path), len(raw))
	_, err = sum.Write(raw)
	return err
}
