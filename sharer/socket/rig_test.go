// SPDX-License-Identifier: Apache-2.0

package socket_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/sharer"
	"aipub.io/aipub/sharer/socket"
	"aipub.io/aipub/sharer/wire"
)

const gpuA, gpuB = "GPU-00112233-4455-6677-8899-aabbccddeeff", "GPU-ffeeddcc-bbaa-9988-7766-554433221100"

// clientBinary builds testdata/client.c once.
var clientBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "client")
	cmd := exec.Command("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-I", "../wire", "-o", binary, "testdata/client.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the client: %w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if binary, err := clientBinary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary))
	}
	os.Exit(code)
}

// rig is a server that runs, on a root of its own.
type rig struct {
	testing.TB
	root   string
	guard  string // the file in which the clients count who is at work
	config socket.Config
	*socket.Server
	stop func()
}

// newRig starts a server. The root has a short name: a socket's path must fit
// into 108 bytes.
func newRig(t testing.TB, change ...func(*socket.Config)) *rig {
	t.Helper()
	root, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	r := &rig{TB: t, root: root, guard: filepath.Join(root, "guard")}
	r.config = socket.Config{Root: root, Reap: 20 * time.Millisecond}
	if err := os.WriteFile(r.guard, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&r.config)
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start starts a server, as after the last one was stopped.
func (r *rig) start() {
	r.Helper()
	s, err := socket.New(r.config)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.Server = s
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.Errorf("run: %v", err)
		}
		if err := s.Close(); err != nil {
			r.Errorf("close: %v", err)
		}
	})
}

func (r *rig) set(specs ...socket.Slice) {
	r.Helper()
	if err := r.Set(specs); err != nil {
		r.Fatal(err)
	}
}

// patient makes an arbiter that never takes a lease by force.
func patient(c *socket.Config) { c.Arbiter.Patience = time.Hour }

// block is a slice of its own tenant, which lends and borrows.
func block(id string, permille int) socket.Slice {
	return socket.Slice{
		ID: gpu.SliceID(id), GPU: gpuA, Tenant: sharer.TenantID("tenant-" + id), Permille: permille, MaxPermille: 1000,
		Lend: true, Borrow: true, MemoryBytes: 1 << 30, GuaranteedBytes: 1 << 30,
	}
}

func (r *rig) dir(id string) string { return filepath.Join(r.root, "slices", id) }

// slot reads a slot of a slice's page.
func (r *rig) slot(id string, i int) wire.Slot {
	r.Helper()
	f, err := os.Open(filepath.Join(r.dir(id), wire.PageFile))
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	return (*wire.Page)(mapped(r, f, wire.PageSize)).Slot[i]
}

// grant reads a slice's grant.
func (r *rig) grant(id string) wire.Grant {
	r.Helper()
	f, err := os.Open(filepath.Join(r.dir(id), wire.GrantFile))
	if err != nil {
		r.Fatal(err)
	}
	defer f.Close()
	return *(*wire.Grant)(mapped(r, f, wire.GrantSize))
}

// overlaps is how often a client came to work while another was at it.
func (r *rig) overlaps() uint32 {
	r.Helper()
	b, err := os.ReadFile(r.guard)
	if err != nil {
		r.Fatal(err)
	}
	return binary.NativeEndian.Uint32(b[4:])
}

func (r *rig) slice(id string) socket.SliceView {
	r.Helper()
	for _, sl := range r.View().Slices {
		if sl.ID == gpu.SliceID(id) {
			return sl
		}
	}
	r.Fatalf("no slice %s in the view", id)
	return socket.SliceView{}
}

func (r *rig) tenant(id string) socket.TenantView {
	r.Helper()
	for _, t := range r.View().Tenants {
		if t.Tenant == sharer.TenantID("tenant-"+id) {
			return t
		}
	}
	r.Fatalf("no tenant of %s in the view", id)
	return socket.TenantView{}
}

// eventually waits for something that must come, however long the machine takes.
func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			r.Fatalf("never happened: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// client is a process of a slice.
type client struct {
	r   *rig
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (r *rig) client(id string, steps ...string) *client {
	r.Helper()
	binary, err := clientBinary()
	if err != nil {
		r.Fatal(err)
	}
	c := &client{r: r, cmd: exec.Command(binary, r.dir(id), r.guard)}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		r.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 1<<24)
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.signal(unix.SIGCONT); c.kill() })
	for _, step := range steps {
		c.do(step)
	}
	return c
}

// attached is a client that the agent has welcomed.
func (r *rig) attached(id string) *client {
	r.Helper()
	c := r.client(id, "claim", "connect")
	c.expect("hello", "welcome")
	return c
}

// tell gives the client a step without waiting for the answer.
func (c *client) tell(step string) {
	c.r.Helper()
	if _, err := fmt.Fprintln(c.in, step); err != nil {
		c.r.Fatalf("%s: %v", step, err)
	}
}

// do makes the client do a step and returns its answer.
func (c *client) do(step string) string {
	c.r.Helper()
	c.tell(step)
	return c.answer()
}

func (c *client) answer() string {
	c.r.Helper()
	defer time.AfterFunc(time.Minute, func() { _ = c.cmd.Process.Kill() }).Stop()
	if !c.out.Scan() {
		c.r.Fatalf("the client ended, or took a minute: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *client) expect(step, want string) {
	c.r.Helper()
	if got := c.do(step); !strings.HasPrefix(got, want) {
		c.r.Fatalf("%s: got %q, want %q", step, got, want)
	}
}

// lease waits for a lease.
func (c *client) lease() {
	c.r.Helper()
	if got := c.do("lease 30"); got == "lease 0" {
		c.r.Fatal("no lease came")
	}
}

// overrun is work that was let in under a lease of its slice's tenant and that goes
// on when the lease is over, which it may be before anybody looks.
func (c *client) overrun(slice string) {
	c.r.Helper()
	before := c.r.tenant(slice).Leases
	c.do("busy")
	c.do("want")
	c.r.eventually("it has a lease", func() bool { return c.r.tenant(slice).Leases > before })
}

func (c *client) signal(sig os.Signal) { _ = c.cmd.Process.Signal(sig) }

func (c *client) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}
