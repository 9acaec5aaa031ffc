// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"
)

// libraryDirs are the places where distributions and installers put the
// driver's libraries.
var libraryDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
	"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/lib",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
}

// loaderDirs are the directories that the loaders of Debian and Red Hat based
// images of this machine's architecture search without a cache.
func loaderDirs() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"/usr/lib/aarch64-linux-gnu", "/usr/lib64"}
	}
	return []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib64"}
}

// shortName matches the names by which programs ask for a driver library.
var shortName = regexp.MustCompile(`^lib(cuda|cudadebugger|nvidia-[a-z0-9-]+|nvcuvid|nvoptix)\.so(\.[0-9]+)?$`)

// required are the libraries without which no GPU program can run. The second is
// enough for one that only looks.
var required = []string{"libcuda.so", "libnvidia-ml.so"}

// mountOptions as the toolkit uses them.
var mountOptions = []string{"ro", "nosuid", "nodev", "rbind", "rprivate"}

// libraries finds the driver's libraries without the toolkit: every file that
// ends in the driver's version, else those that the short names lead to.
func (d *Driver) libraries() (specs.ContainerEdits, error) {
	var edits specs.ContainerEdits
	seen := map[string]bool{}
	for _, dir := range libraryDirs {
		entries, err := os.ReadDir(filepath.Join(d.config.Root, dir))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !d.isDriverFile(dir, e.Name()) || seen[e.Name()] {
				continue
			}
			seen[e.Name()] = true
			inside := path.Join(dir, e.Name())
			edits.Mounts = append(edits.Mounts, d.mount(inside, inside))
		}
	}
	if !slices.ContainsFunc(edits.Mounts, isLibrary) {
		return edits, fmt.Errorf("no driver library (%s) found below %s: give the root of the driver installation",
			strings.Join(required, ", "), d.config.Root)
	}
	return edits, nil
}

// isDriverFile reports whether a file belongs to the driver: it is no link, and
// its name ends in the driver's version or is a short name.
func (d *Driver) isDriverFile(dir, name string) bool {
	versioned := d.config.Version != "" && strings.HasPrefix(name, "lib") && strings.HasSuffix(name, ".so."+d.config.Version)
	if !versioned && !shortName.MatchString(name) {
		return false
	}
	info, err := os.Lstat(filepath.Join(d.config.Root, dir, name))
	return err == nil && info.Mode().IsRegular()
}

// mount binds a file of the driver root.
func (d *Driver) mount(inRoot, inContainer string) *specs.Mount {
	return &specs.Mount{
		HostPath:      filepath.Join(d.config.HostRoot, inRoot),
		ContainerPath: inContainer,
		Options:       slices.Clone(mountOptions),
	}
}

// withoutHooks are the mounts that make the libraries among edits loadable by
// their short names where no hook can make links: each library under each of
// the names that link to it on the host, in the loaders' directories.
func (d *Driver) withoutHooks(edits specs.ContainerEdits) specs.ContainerEdits {
	var out specs.ContainerEdits
	for _, m := range edits.Mounts {
		if !strings.Contains(path.Base(m.ContainerPath), ".so") {
			continue
		}
		for _, name := range append(d.shortNames(m), path.Base(m.ContainerPath)) {
			for _, dir := range loaderDirs() {
				out.Mounts = append(out.Mounts, &specs.Mount{
					HostPath:      m.HostPath,
					ContainerPath: path.Join(dir, name),
					Options:       slices.Clone(mountOptions),
				})
			}
		}
	}
	return out
}

// shortNames are the links beside a library that lead to it.
func (d *Driver) shortNames(m *specs.Mount) []string {
	dir := filepath.Dir(filepath.Join(d.config.Root, hostPath(m.HostPath, d.config.HostRoot, "/")))
	target, err := filepath.EvalSymlinks(filepath.Join(dir, path.Base(m.HostPath)))
	if err != nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 || !shortName.MatchString(e.Name()) {
			continue
		}
		if to, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil && to == target {
			names = append(names, e.Name())
		}
	}
	return names
}

// isLibrary reports whether a mount is one of the required libraries.
func isLibrary(m *specs.Mount) bool {
	name := path.Base(m.ContainerPath)
	return slices.ContainsFunc(required, func(r string) bool { return strings.HasPrefix(name, r) })
}
