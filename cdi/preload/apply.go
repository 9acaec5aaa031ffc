// SPDX-License-Identifier: Apache-2.0

package preload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	pathrs "github.com/cyphar/filepath-securejoin/pathrs-lite"
	"golang.org/x/sys/unix"
)

const (
	listFile = "/etc/ld.so.preload"
	maxList  = 64 << 10 // bytes; a list is a few lines
)

// libDirs are the folders in which distributions keep their loaders.
var libDirs = []string{"/lib64", "/lib", "/usr/lib64", "/usr/lib"}

// Apply makes every glibc program of the container below rootfs load a library.
// work is a folder of the host's for the files that are bound; a file stands
// for its content and is shared. It returns ErrMusl for an image that cannot
// work.
func Apply(rootfs, library, work string) error {
	root, err := os.OpenFile(rootfs, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("open container root: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := Judge(loaders(root)); err != nil {
		return err
	}
	target, list, err := openList(root)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	wanted := With(list, library)
	if wanted == list {
		return nil
	}
	source, err := keep(work, wanted)
	if err != nil {
		return err
	}
	if err := bind(source, target); err != nil {
		return err
	}
	return protect(root)
}

// loaders are the names of the dynamic loaders that the container has.
func loaders(root *os.File) []string {
	var all []string
	for _, dir := range libDirs {
		handle, err := pathrs.OpenatInRoot(root, dir)
		if err != nil {
			continue
		}
		all = append(all, loadersIn(handle)...)
		_ = handle.Close()
	}
	return all
}

func loadersIn(handle *os.File) []string {
	dir, err := pathrs.Reopen(handle, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var found []string
	for _, n := range names {
		if strings.HasPrefix(n, "ld-linux") || strings.HasPrefix(n, "ld-musl-") {
			found = append(found, n)
		}
	}
	return found
}

// openList opens the container's list, an empty one if it has none, and reads it.
func openList(root *os.File) (handle *os.File, list string, err error) {
	handle, err = pathrs.OpenatInRoot(root, listFile)
	if errors.Is(err, os.ErrNotExist) {
		if err := create(root); err != nil {
			return nil, "", fmt.Errorf("create %s in the container: %w", listFile, err)
		}
		handle, err = pathrs.OpenatInRoot(root, listFile)
	}
	if err != nil {
		return nil, "", fmt.Errorf("open %s of the container: %w", listFile, err)
	}
	list, err = read(handle)
	if err != nil {
		_ = handle.Close()
		return nil, "", fmt.Errorf("read %s of the container: %w", listFile, err)
	}
	return handle, list, nil
}

func create(root *os.File) error {
	dir, err := pathrs.MkdirAllHandle(root, filepath.Dir(listFile), 0o755)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(listFile), unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func read(handle *os.File) (string, error) {
	info, err := handle.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("it is no regular file but %s", info.Mode())
	}
	f, err := pathrs.Reopen(handle, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxList+1))
	if err == nil && len(data) > maxList {
		err = fmt.Errorf("it is longer than %d bytes", maxList)
	}
	return string(data), err
}

// keep writes a list to a file named after its content and returns its path.
func keep(work, list string) (string, error) {
	sum := sha256.Sum256([]byte(list))
	path := filepath.Join(work, "preload-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(work, 0o755); err != nil { //nolint:gosec // containers read what is in it
		return "", fmt.Errorf("make folder for preload lists: %w", err)
	}
	return path, write(path, []byte(list), 0o644)
}

// bind mounts source over the open file.
func bind(source string, target *os.File) error {
	at := fmt.Sprintf("/proc/self/fd/%d", target.Fd())
	if err := unix.Mount(source, at, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind preload list into the container: %w", err)
	}
	return nil
}

// protect makes what was bound read-only: the file is shared with every container
// that has the same list, and a root in one of them could otherwise switch the
// library off, or have its own loaded, in all of them. The list is opened anew,
// because only the root of a mount can be changed.
func protect(root *os.File) error {
	bound, err := pathrs.OpenatInRoot(root, listFile)
	if err != nil {
		return fmt.Errorf("open what was bound over %s: %w", listFile, err)
	}
	defer func() { _ = bound.Close() }()
	at := fmt.Sprintf("/proc/self/fd/%d", bound.Fd())
	const flags = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("", at, "", flags, ""); err != nil {
		return fmt.Errorf("make %s of the container read-only: %w", listFile, err)
	}
	return nil
}
