// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// busybox and pause are the images that every containerd here starts with.
const (
	busybox = "aipub.test/busybox:1"
	pause   = "aipub.test/pause:1"
)

// daemon is a containerd of its own, with the kubelet's interface, in a folder of its own.
type daemon struct {
	dir     string
	socket  string
	cgroup  string
	runtime cri.RuntimeServiceClient
	images  cri.ImageServiceClient
	parts   parts
	process *exec.Cmd
	log     *bytes.Buffer
}

var shared struct {
	once   sync.Once
	daemon *daemon
	err    error
}

func TestMain(m *testing.M) {
	if socket := os.Getenv("AIPUB_TEST_COMMIT"); socket != "" {
		os.Exit(commitAsAnotherProcess(socket))
	}
	code := m.Run()
	if shared.daemon != nil {
		shared.daemon.stop()
	}
	os.Exit(code)
}

// running is the containerd that the tests share, and a client for it.
func running(t *testing.T) (*daemon, *Client) {
	t.Helper()
	parts := needed(t)
	shared.once.Do(func() { shared.daemon, shared.err = start("", parts) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.daemon, shared.daemon.client(t)
}

func (d *daemon) client(t *testing.T) *Client {
	t.Helper()
	c, err := New(d.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// parts are what a containerd is started from.
type parts struct{ programs, images, runc string }

// needed skips the test where something is missing that `make test` builds.
func needed(t *testing.T) parts {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("containers need root")
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("runc is not installed (Debian's package runc)")
	}
	cache := os.Getenv("AIPUB_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no cache folder: %v", err)
		}
		cache = filepath.Join(user, "aipub")
	}
	programs, _ := filepath.Glob(filepath.Join(cache, "cluster", "containerd-v*", "containerd"))
	images, _ := filepath.Glob(filepath.Join(cache, "cluster", "images-*", "busybox.tar"))
	if len(programs) == 0 || len(images) == 0 {
		t.Skip("no containerd and no images are built; `make cluster-up` builds both (test/cluster)")
	}
	return parts{filepath.Dir(programs[len(programs)-1]), filepath.Dir(images[len(images)-1]), runc}
}

// start runs a containerd whose images and containers are under root, or in its own
// folder where root is empty.
func start(root string, p parts) (*daemon, error) {
	dir, err := os.MkdirTemp("", "aipubc-") // short: sockets have no long names
	if err != nil {
		return nil, err
	}
	if root == "" {
		root = filepath.Join(dir, "root")
	}
	d := &daemon{parts: p, dir: dir, socket: filepath.Join(dir, "c.sock"), cgroup: fmt.Sprintf("/aipub-test-%d", os.Getpid()), log: &bytes.Buffer{}}
	config := fmt.Sprintf(`version = 4
root = %[2]q
state = "%[1]s/state"
imports = []
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins."io.containerd.server.v1.grpc"]
  address = "%[1]s/c.sock"
[plugins."io.containerd.server.v1.ttrpc"]
  address = "%[1]s/c.sock.ttrpc"
[plugins."io.containerd.shim.v1.manager"]
  socket_dir = "%[1]s/shims"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = %[3]q
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  tolerate_missing_hugetlb_controller = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["%[1]s"]
    conf_dir = "%[1]s"
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      runtime_path = "%[4]s/containerd-shim-runc-v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = %[5]q
        Root = "%[1]s/runc"
`, dir, root, pause, p.programs, p.runc)
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	d.process = exec.Command(filepath.Join(p.programs, "containerd"), "--config", filepath.Join(dir, "config.toml"))
	d.process.Stderr = d.log
	if err := d.process.Start(); err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("unix://"+d.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	d.runtime, d.images = cri.NewRuntimeServiceClient(conn), cri.NewImageServiceClient(conn)
	if err := d.prepare(); err != nil {
		d.stop()
		return nil, fmt.Errorf("%w\n%s", err, d.log)
	}
	return d, nil
}

// prepare waits until containerd answers, and imports the images.
func (d *daemon) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		_, err := d.runtime.Version(ctx, &cri.VersionRequest{}, grpc.WaitForReady(true))
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for containerd: %w", err)
		}
	}
	if err := d.load(ctx, "pause.tar", pause); err != nil {
		return err
	}
	return d.load(ctx, "busybox.tar", busybox)
}

// load imports an image, and waits until the kubelet's side has heard of it.
func (d *daemon) load(ctx context.Context, file, name string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(d.parts.programs, "ctr"), "--address", d.socket, "--namespace", namespace,
		"images", "import", filepath.Join(d.parts.images, file)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("import %s: %w\n%s", file, err, out)
	}
	for d.image(ctx, name) == nil {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for image %s: %w", name, ctx.Err())
		}
	}
	return nil
}

// image is what the kubelet is told of an image; nil for none.
func (d *daemon) image(ctx context.Context, name string) *cri.Image {
	got, err := d.images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}})
	if err != nil {
		return nil
	}
	return got.Image
}

// stop ends all containers, containerd, and what they leave on the machine.
func (d *daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if list, err := d.runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{}); err == nil {
		for _, pod := range list.Items {
			d.runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: pod.Id})
			d.runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: pod.Id})
		}
	}
	d.process.Process.Signal(syscall.SIGTERM)
	d.process.Wait()
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], d.dir+"/") {
			syscall.Unmount(fields[4], syscall.MNT_DETACH)
		}
	}
	groups, _ := filepath.Glob("/sys/fs/cgroup/*" + d.cgroup)
	for _, group := range append(groups, "/sys/fs/cgroup"+d.cgroup) {
		syscall.Rmdir(group)
	}
	os.RemoveAll(d.dir)
}
