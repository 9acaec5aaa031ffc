// SPDX-License-Identifier: Apache-2.0

package socket

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// The last process of a lost slice may die when the memory was divided already and the
// lost slice is not looked at again.
func TestMemoryOfALostSliceGoesToItsHeirWithIt(t *testing.T) {
	root := t.TempDir()
	s, err := New(Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	const limit = 1 << 30
	if err := s.Set([]Slice{{ID: "a", GPU: "GPU-00000000-0000-0000-0000-000000000001", Tenant: "a", Permille: 500, MemoryBytes: limit}}); err != nil {
		t.Fatal(err)
	}
	lost := s.slices["a"]
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	id := identity{owner: 7, start: 1}
	slot := &lost.dir.page.w.Slot[0]
	atomic.StoreUint64(&slot.Owner, id.owner)
	atomic.StoreUint64(&slot.StartTime, id.start)
	atomic.StoreUint64(&slot.CommittedBytes, 1000)
	m, err := s.join(lost, 0, id, peer{os.Getpid(), pidfd})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "slices")); err != nil {
		t.Fatal(err)
	}
	s.layDown()
	heir := s.slices["a"]
	if got := atomic.LoadUint64(&heir.dir.grant.w.MemoryBytes); heir == lost || got != limit-1000 {
		t.Fatalf("beside the lost slice the limit is %d, want what that leaves, %d", got, limit-1000)
	}
	s.part(m)
	s.removeIfLeft(lost)
	if got := atomic.LoadUint64(&heir.dir.grant.w.MemoryBytes); got != limit || len(s.slices) != 1 {
		t.Errorf("after the lost slice the limit is %d, want all of it, %d (%d slices)", got, limit, len(s.slices))
	}
}
