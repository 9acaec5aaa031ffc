// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"os"
	"path/filepath"
	"testing"

	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

// Somebody removes all of the agent's folders. Who is attached goes on, and who
// comes finds folders, with what the others leave of the memory.
func TestFoldersThatAreRemovedAreLaidDownAgain(t *testing.T) {
	r := newRig(t)
	r.set(block("a", 500), block("b", 500))
	old, neighbour := r.attached("a"), r.attached("b")
	old.do("work 3 100")
	old.do("commit 1000")
	before := r.inodes("a")
	r.eventually("they are removed", func() bool { return os.RemoveAll(filepath.Join(r.root, "slices")) == nil })
	for _, id := range []string{"a", "b"} {
		r.eventually("a folder with a socket", func() bool {
			_, err := os.Stat(filepath.Join(r.dir(id), wire.SocketFile))
			return err == nil
		})
	}
	if r.inodes("a") == before {
		t.Fatal("the files are those that were removed")
	}
	late := r.attached("a")
	for _, c := range []*client{old, late, neighbour} {
		c.do("work 3 100")
	}
	v := r.slice("a")
	if len(v.Processes) != 2 || v.Processes[0].HostPID != late.cmd.Process.Pid || v.Processes[1].HostPID != old.cmd.Process.Pid {
		t.Fatalf("processes are %+v, want the late one and the old one", v.Processes)
	}
	if v.Work.Launches != 9 {
		t.Errorf("%d launches are counted, want 3 from before, and 3 of each since: 9", v.Work.Launches)
	}
	if tn := r.tenant("a"); len(tn.Slices) != 1 {
		t.Errorf("the tenant has slices %v, want one", tn.Slices)
	}
	if g := r.grant("a"); g.GuaranteePermille != 500 || g.MemoryBytes != 1<<30-1000 {
		t.Errorf("the new grant says %d ‰ and %d bytes, want 500 and what the old process leaves", g.GuaranteePermille, g.MemoryBytes)
	}
	if err := r.SetOverhead("a", v.Processes[1].Slot, 77); err != nil || r.slice("a").Processes[1].Memory.Overhead != 77 {
		t.Errorf("the old process's overhead is not set: %v", err)
	}
	old.kill()
	r.eventually("all memory is the new process's", func() bool { return r.grant("a").MemoryBytes == 1<<30 })
	if v := r.slice("a"); len(v.Processes) != 1 || v.Work.Launches < 9 {
		t.Errorf("after the old one's end the slice is %+v", v)
	}
	r.set(block("b", 500)) // the end of a slice that was lost once
	late.kill()
	r.eventually("its folder is gone", func() bool {
		_, err := os.Stat(r.dir("a"))
		return os.IsNotExist(err)
	})
}

// What is found removed when the slice is set need not be waited for: a container
// is about to start.
func TestASetSliceHasAFolder(t *testing.T) {
	r := newRig(t, func(c *socket.Config) { c.Reap = 1 << 40 })
	r.set(block("a", 500))
	for _, name := range []string{"", wire.GrantFile, wire.PageFile, wire.SocketFile} {
		// Again where the agent, which looks once when it starts, made a socket meanwhile.
		r.eventually("it is removed", func() bool { return os.RemoveAll(filepath.Join(r.dir("a"), name)) == nil })
		r.set(block("a", 500))
		c := r.attached("a")
		c.lease()
		c.kill()
	}
	if n := len(r.View().Tenants); n != 1 {
		t.Errorf("there are %d tenants, want 1", n)
	}
}

// A folder that is removed while its slice ends, and whose slice comes back.
func TestALostSliceMayComeBack(t *testing.T) {
	r := newRig(t)
	a := block("a", 500)
	r.set(a)
	old := r.attached("a")
	r.set()
	r.eventually("it is removed", func() bool { return os.RemoveAll(r.dir("a")) == nil })
	a.Tenant = sharer.TenantID("tenant-a")
	r.set(a)
	late := r.attached("a")
	old.do("connect")
	late.lease()
	old.lease()
	old.kill()
	r.eventually("the old one is gone", func() bool { return len(r.slice("a").Processes) == 1 })
	if _, err := os.Stat(r.dir("a")); err != nil {
		t.Errorf("the folder went with the old process: %v", err)
	}
}
