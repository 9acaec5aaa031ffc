// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer/wire"
)

// Modes of what a container sees. The container gets the directory read-only,
// and the page writable on top; whoever it runs as may use it.
const (
	dirMode    = 0o755
	grantMode  = 0o644
	pageMode   = 0o666
	socketMode = 0o666
)

// unfinished marks a directory that is still being made.
const unfinished = ".new"

// LayoutError is that a slice's directory has another layout than this agent
// knows. The directory is left alone: processes are using it.
type LayoutError struct {
	Slice gpu.SliceID
	File  string
	Found string
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("adopt slice %s: %s has %s, this agent knows layout %d; end the containers that hold the slice, then remove the directory",
		e.Slice, e.File, e.Found, wire.Layout)
}

// directory is a slice's directory on the host. The files have the same inodes
// for as long as it exists, since containers hold them mounted.
type directory struct {
	path  string
	grant grant
	page  page
	files [2]os.FileInfo // the grant and the page, as they were opened
}

// slicesDir is the folder of all directories.
func slicesDir(root string) string { return filepath.Join(root, "slices") }

// openDirectory adopts the directory of a slice, or makes it. It is made under
// another name, so that one with the slice's name is complete.
func openDirectory(root string, s Slice) (*directory, error) {
	path := filepath.Join(slicesDir(root), string(s.ID))
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := makeDirectory(path); err != nil {
			return nil, fmt.Errorf("make directory of slice %s: %w", s.ID, err)
		}
	}
	d := &directory{path: path}
	if err := d.open(s); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func makeDirectory(path string) error {
	making := path + unfinished
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	if err := os.MkdirAll(making, dirMode); err != nil {
		return err
	}
	if err := os.Chmod(making, dirMode); err != nil { // whatever the umask
		return err
	}
	if err := makeFile(filepath.Join(making, wire.GrantFile), wire.GrantSize, grantMode); err != nil {
		return err
	}
	if err := makeFile(filepath.Join(making, wire.PageFile), wire.PageSize, pageMode); err != nil {
		return err
	}
	return os.Rename(making, path)
}

// makeFile makes a file of zeros whose memory is allocated: a write to it later
// cannot find the file system full.
func makeFile(path string, size int, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = f.Chmod(mode)
	if err == nil {
		err = unix.Fallocate(int(f.Fd()), 0, 0, int64(size))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}

// open maps the files and checks that they are of this layout, or new.
func (d *directory) open(s Slice) error {
	file, b, err := mapFile(filepath.Join(d.path, wire.GrantFile), wire.GrantSize)
	if err != nil {
		return fmt.Errorf("adopt slice %s: %w", s.ID, err)
	}
	d.files[0], err = file.Stat()
	_ = file.Close() // the mapping stays
	if err != nil {
		return fmt.Errorf("adopt slice %s: %w", s.ID, err)
	}
	d.grant = grant{(*wire.Grant)(unsafe.Pointer(&b[0]))}
	g := d.grant.w
	if g.Magic != 0 && (g.Magic != wire.GrantMagic || g.Layout != wire.Layout || g.Size != uint32(wire.GrantSize)) {
		return &LayoutError{s.ID, wire.GrantFile, fmt.Sprintf("magic %#x, layout %d, %d bytes", g.Magic, g.Layout, g.Size)}
	}

	if d.page.file, b, err = mapFile(filepath.Join(d.path, wire.PageFile), wire.PageSize); err != nil {
		return fmt.Errorf("adopt slice %s: %w", s.ID, err)
	}
	d.page.w = (*wire.Page)(unsafe.Pointer(&b[0]))
	if d.files[1], err = d.page.file.Stat(); err != nil {
		return fmt.Errorf("adopt slice %s: %w", s.ID, err)
	}
	if g.Magic == 0 {
		// New. The grant's magic number comes last of all.
		d.page.setHeader()
		return d.grant.setIdentity(s)
	}
	// The grant is of this layout, so the page is too; what differs is damage.
	if _, err := d.page.repair(); err != nil {
		return fmt.Errorf("adopt slice %s: %w", s.ID, err)
	}
	return nil
}

// mapFile maps a file of at least size bytes, and lengthens one that was cut
// short.
func mapFile(path string, size int) (*os.File, []byte, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < int64(size) {
		err = f.Truncate(int64(size))
	}
	if err != nil {
		return f, nil, errors.Join(err, f.Close())
	}
	b, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("map %s: %w", path, err), f.Close())
	}
	return f, b, nil
}

// intact reports whether a container that starts would find the files that are
// mapped here.
func (d *directory) intact() bool {
	for i, name := range [...]string{wire.GrantFile, wire.PageFile} {
		info, err := os.Lstat(filepath.Join(d.path, name))
		if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(info, d.files[i]) {
			return false
		}
	}
	return true
}

func (d *directory) hasSocket() bool {
	_, err := os.Lstat(filepath.Join(d.path, wire.SocketFile))
	return !errors.Is(err, os.ErrNotExist)
}

// close unmaps the files. Nothing may use the directory afterwards.
func (d *directory) close() {
	if d.grant.w != nil {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(d.grant.w)), wire.GrantSize))
	}
	if d.page.w != nil {
		_ = unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(d.page.w)), wire.PageSize))
		_ = d.page.file.Close()
	}
	d.grant, d.page = grant{}, page{}
}

// remove takes the directory away. Containers that still have it mounted keep
// what they have mapped, and can attach no more.
func (d *directory) remove() error {
	d.close()
	return removeDirectory(d.path)
}

func removeDirectory(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove directory of slice: %w", err)
	}
	return nil
}

// listDirectories gives the slices that have a directory, and removes what an
// agent left half made.
func listDirectories(root string) ([]gpu.SliceID, error) {
	entries, err := os.ReadDir(slicesDir(root))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list slices: %w", err)
	}
	var ids []gpu.SliceID
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), unfinished):
			if err := removeDirectory(filepath.Join(slicesDir(root), e.Name())); err != nil {
				return nil, err
			}
		case e.IsDir() && validID(e.Name()):
			ids = append(ids, gpu.SliceID(e.Name()))
		}
	}
	return ids, nil
}
