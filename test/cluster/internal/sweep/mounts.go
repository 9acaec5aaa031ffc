// SPDX-License-Identifier: Apache-2.0

// Package sweep removes what containers leave behind: processes in their
// cgroups, the cgroups, mounts and links. It works without containerd, so
// that it also works when containerd is dead.
package sweep

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one line of /proc/self/mountinfo, as far as it is needed.
type mount struct{ point, kind, options string }

// Unmount unmounts all that is mounted at or below the folders, the newest first.
func Unmount(folders ...string) error {
	mounts, err := mounts()
	if err != nil {
		return err
	}
	slices.Reverse(mounts)
	var errs []error
	for _, m := range mounts {
		if !slices.ContainsFunc(folders, func(folder string) bool { return within(m.point, folder) }) {
			continue
		}
		// A detached mount disappears once nothing uses it any more; whatever did use it was stopped before.
		err := unix.Unmount(m.point, unix.MNT_DETACH)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) { // propagated away meanwhile
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.point, err))
		}
	}
	return errors.Join(errs...)
}

// Mounted reports whether something is mounted right at the folder.
func Mounted(folder string) (bool, error) {
	mounts, err := mounts()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(mounts, func(m mount) bool { return m.point == folder }), nil
}

func mounts() ([]mount, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return parseMounts(string(raw))
}

// parseMounts reads the format of proc(5): fields, a variable number of
// optional ones, a dash, then type, source and options of the file system.
func parseMounts(text string) ([]mount, error) {
	var all []mount
	for line := range strings.Lines(text) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !found || len(left) < 6 || len(right) < 3 {
			return nil, fmt.Errorf("list mounts: cannot read line %q", line)
		}
		all = append(all, mount{point: unescape(left[4]), kind: right[0], options: right[2]})
	}
	return all, nil
}

var unescapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescape(s string) string { return unescapes.Replace(s) }

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
