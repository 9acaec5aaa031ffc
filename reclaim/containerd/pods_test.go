// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	tasks "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var pods atomic.Int64

// pod is one container, started as the kubelet does.
type pod struct {
	t       *testing.T
	d       *daemon
	c       *Client
	uid     string
	sandbox string
	config  *cri.PodSandboxConfig
	id      string // of the container
}

// run starts a pod with one container, named main, that sleeps.
func run(t *testing.T, d *daemon, c *Client, image string) *pod {
	t.Helper()
	n := pods.Add(1)
	p := &pod{t: t, d: d, c: c, uid: fmt.Sprintf("uid-%d", n)}
	p.config = &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: fmt.Sprintf("pod-%d", n), Namespace: "lab", Uid: p.uid},
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: d.cgroup,
			SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{
				Network: cri.NamespaceMode_NODE, Pid: cri.NamespaceMode_CONTAINER, Ipc: cri.NamespaceMode_POD,
			}},
		},
	}
	made, err := d.runtime.RunPodSandbox(t.Context(), &cri.RunPodSandboxRequest{Config: p.config})
	if err != nil {
		t.Fatalf("run sandbox: %v", err)
	}
	p.sandbox = made.PodSandboxId
	p.startContainer(image, 0)
	t.Cleanup(p.stop)
	return p
}

func (p *pod) startContainer(image string, attempt uint32) {
	p.t.Helper()
	got, err := p.d.runtime.CreateContainer(p.t.Context(), &cri.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: p.config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main", Attempt: attempt},
			Image:    &cri.ImageSpec{Image: image},
			Command:  []string{"/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"},
			Labels:   map[string]string{"io.kubernetes.pod.namespace": "lab", "io.kubernetes.pod.uid": p.uid, "io.kubernetes.container.name": "main"},
			Linux: &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{NamespaceOptions: &cri.NamespaceOption{
				Network: cri.NamespaceMode_NODE, Pid: cri.NamespaceMode_CONTAINER, Ipc: cri.NamespaceMode_POD,
			}}},
		},
	})
	if err != nil {
		p.t.Fatalf("create container from %s: %v", image, err)
	}
	p.id = got.ContainerId
	if _, err := p.d.runtime.StartContainer(p.t.Context(), &cri.StartContainerRequest{ContainerId: p.id}); err != nil {
		p.t.Fatalf("start container: %v", err)
	}
}

func (p *pod) stop() {
	ctx := context.WithoutCancel(p.t.Context()) // it ends before the clean-up
	p.d.runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: p.sandbox})
	p.d.runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
}

// sh runs a script in the container and returns what it wrote, without the last newline.
func (p *pod) sh(script string) string {
	p.t.Helper()
	code, out, err := p.c.Exec(p.t.Context(), p.id, []string{"/bin/sh", "-c", script}, 30*time.Second)
	if err != nil || code != 0 {
		p.t.Fatalf("sh -c %q: exit code %d, %v\n%s", script, code, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (p *pod) status() task.Status {
	p.t.Helper()
	got, err := p.c.tasks.Get(p.t.Context(), &tasks.GetRequest{ContainerID: p.id})
	if err != nil {
		p.t.Fatal(err)
	}
	return got.Process.Status
}

// frozen waits until the container is frozen.
func (p *pod) frozen() {
	p.t.Helper()
	for limit := time.Now().Add(20 * time.Second); p.status() != task.Status_PAUSED; {
		if time.Now().After(limit) {
			p.t.Fatal("the container was not frozen within 20 s")
		}
	}
}

// nothingLeft checks that a save holds up nothing, and keeps nothing, any more.
func (p *pod) nothingLeft() {
	p.t.Helper()
	ctx := p.t.Context()
	if s := p.status(); s != task.Status_RUNNING {
		p.t.Errorf("the container is %v, want running", s)
	}
	if got := p.sh("echo alive"); got != "alive" {
		p.t.Errorf("the container answers %q", got)
	}
	list, err := p.c.leases.List(ctx, &leases.ListRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, l := range list.Leases {
		if l.Labels[containerLabel] != "" {
			p.t.Errorf("lease %s is left", l.ID)
		}
	}
	if _, err := p.c.snapshots.Stat(ctx, &snapshots.StatSnapshotRequest{Snapshotter: "overlayfs", Key: leaseOf(p.id)}); !notFound(err) {
		p.t.Errorf("the view of the base is left: %v", err)
	}
	writes, err := p.c.content.ListStatuses(ctx, &content.ListStatusesRequest{})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, w := range writes.Statuses {
		p.t.Errorf("unfinished blob %s is left, %d bytes", w.Ref, w.Offset)
	}
}

// blobs are the digests of all that containerd stores.
func blobs(t *testing.T, c *Client) map[string]bool {
	t.Helper()
	stream, err := c.content.List(t.Context(), &content.ListContentRequest{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for {
		got, err := stream.Recv()
		if err != nil {
			return all
		}
		for _, info := range got.Info {
			all[info.Digest] = true
		}
	}
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	var typed *Error
	if !errors.As(err, &typed) || typed.Reason() != reason {
		t.Errorf("error %v, want reason %s", err, reason)
	}
}
