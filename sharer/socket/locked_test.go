// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/sharer/wire"
)

// denied is an access list by which user 1000 may do nothing with a file.
func denied() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2) // its version
	for _, e := range []struct {
		tag, may uint16
		id       uint32
	}{{0x01, 6, ^uint32(0)}, {0x02, 0, 1000}, {0x04, 6, ^uint32(0)}, {0x10, 6, ^uint32(0)}, {0x20, 6, ^uint32(0)}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.may)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// A container that locks its page's file locks out its own next processes, for half a
// second.
func TestALockedPageIsUnlocked(t *testing.T) {
	for name, lock := range map[string]func(path string) error{
		"mode":  func(path string) error { return os.Chmod(path, 0) },
		"owner": func(path string) error { return os.Chown(path, 1000, -1) },
		"list":  func(path string) error { return unix.Setxattr(path, "system.posix_acl_access", denied(), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.set(block("a", 500), block("b", 500))
			r.attached("a")
			path := filepath.Join(r.dir("a"), wire.PageFile)
			if err := lock(path); errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) {
				t.Skipf("cannot lock a file this way here: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			r.eventually("it is counted", func() bool { return r.slice("a").Locked > 0 })
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil || st.Mode&0o7777 != 0o666 || int(st.Uid) != os.Geteuid() {
				t.Errorf("the page has mode %o and owner %d, %v; want 666 and %d", st.Mode, st.Uid, err, os.Geteuid())
			}
			if n, err := unix.Getxattr(path, "system.posix_acl_access", nil); err == nil && n > 0 {
				t.Error("the page has an access list still")
			}
			if v := r.slice("a"); v.Damage > 0 {
				t.Errorf("what the page says counts as damaged %d times, want it believed", v.Damage)
			}
			if got := r.attached("a").do("work 5 100"); !strings.HasSuffix(got, "done") {
				t.Errorf("the next process's work: %s", got)
			}
			if v := r.slice("b"); v.Locked > 0 {
				t.Errorf("it counts for the neighbour %d times", v.Locked)
			}
		})
	}
}

// What a container locked while no agent was there is unlocked by the next one.
func TestANextAgentUnlocks(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500))
	r.stop()
	path := filepath.Join(r.dir("a"), wire.PageFile)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.set(block("a", 500))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the page's mode is %v, %v; want 666", info.Mode(), err)
	}
}
