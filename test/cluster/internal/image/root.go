// SPDX-License-Identifier: Apache-2.0

package image

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// FromRoot makes a one-layer image of a folder's files, folders and links, with
// the owners left out: everything is root's. Its programs are found in PATH
// /bin:/usr/bin.
func FromRoot(archive, ref, dir string) error {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		f, err := entry(dir, path, d)
		files = append(files, f)
		return err
	})
	if err != nil {
		return fmt.Errorf("read root file system: %w", err)
	}
	return write(archive, ref, files, v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin:/usr/bin"}})
}

func entry(dir, path string, d fs.DirEntry) (file, error) {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return file{}, err
	}
	info, err := d.Info()
	if err != nil {
		return file{}, err
	}
	f := file{path: name, mode: int64(info.Mode().Perm())}
	switch {
	case d.IsDir():
		f.folder = true
	case info.Mode()&fs.ModeSymlink != 0:
		f.target, err = os.Readlink(path)
	case info.Mode().IsRegular():
		f.content, err = os.ReadFile(path)
	default:
		err = fmt.Errorf("%s is neither file, folder nor link", name)
	}
	return f, err
}
