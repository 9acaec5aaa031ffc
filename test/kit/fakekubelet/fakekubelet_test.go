// SPDX-License-Identifier: Apache-2.0

package fakekubelet_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"aipub.io/aipub/test/kit/fakekubelet"
)

const resource = "example.com/thing"

// plugin is the plainest device plugin.
type plugin struct {
	pluginapi.UnimplementedDevicePluginServer
	lists  chan []*pluginapi.Device
	prefer []string
	refuse error
}

func (p *plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: p.prefer != nil}, nil
}

func (p *plugin) ListAndWatch(_ *pluginapi.Empty, s pluginapi.DevicePlugin_ListAndWatchServer) error {
	for {
		select {
		case devs := <-p.lists:
			if err := s.Send(&pluginapi.ListAndWatchResponse{Devices: devs}); err != nil {
				return err
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (p *plugin) GetPreferredAllocation(context.Context, *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	return &pluginapi.PreferredAllocationResponse{ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: p.prefer}}}, nil
}

func (p *plugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{Envs: map[string]string{"IDS": strings.Join(r.ContainerRequests[0].DevicesIds, ",")}}}}, p.refuse
}

// node is a fake kubelet with one plugin.
type node struct {
	*fakekubelet.Kubelet
	t   *testing.T
	dir string
	now time.Time
}

func start(t *testing.T) *node {
	t.Helper()
	dir, err := os.MkdirTemp("", "fk")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{t: t, dir: dir, now: time.Unix(0, 0)}
	n.Kubelet = fakekubelet.New(fakekubelet.Config{Dir: dir, Now: func() time.Time { return n.now }})
	n.must(n.Start())
	t.Cleanup(func() {
		n.Stop()
		os.RemoveAll(dir)
	})
	return n
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// serve starts a plugin and registers it; its devices are healthy.
func (n *node) serve(p *plugin, socket string, ids ...string) *grpc.Server {
	n.t.Helper()
	l, err := net.Listen("unix", filepath.Join(n.dir, socket))
	n.must(err)
	s := grpc.NewServer()
	p.lists = make(chan []*pluginapi.Device, 1)
	pluginapi.RegisterDevicePluginServer(s, p)
	go s.Serve(l)
	n.t.Cleanup(s.Stop)
	n.must(n.register(socket))
	p.list(pluginapi.Healthy, ids...)
	n.eventually(func() bool { return n.Allocatable(resource) == len(ids) })
	return s
}

func (p *plugin) list(health string, ids ...string) {
	var devs []*pluginapi.Device
	for _, id := range ids {
		devs = append(devs, &pluginapi.Device{ID: id, Health: health})
	}
	p.lists <- devs
}

func (n *node) register(socket string) error {
	conn, err := grpc.NewClient("unix://"+filepath.Join(n.dir, "kubelet.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	n.must(err)
	defer conn.Close()
	_, err = pluginapi.NewRegistrationClient(conn).Register(n.t.Context(), &pluginapi.RegisterRequest{Version: pluginapi.Version, Endpoint: socket, ResourceName: resource})
	return err
}

func (n *node) eventually(cond func() bool) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), 20*time.Second)
	defer cancel()
	if err := n.Wait(ctx, cond); err != nil {
		n.t.Fatalf("not in time; node status %v", n.Node())
	}
}

func pod(uid string, n int) fakekubelet.Pod {
	return fakekubelet.Pod{UID: uid, Namespace: "team", Name: uid, Containers: []fakekubelet.Container{{Name: "main", Limits: map[string]int{resource: n}}}}
}

func TestDevicesArePickedAsPreferredAndFreedLazily(t *testing.T) {
	n := start(t)
	n.serve(&plugin{prefer: []string{"c", "a"}}, "p.sock", "a", "b", "c")
	n.must(n.Admit(t.Context(), pod("one", 2)))
	if diff := cmp.Diff([]string{"a", "c"}, n.Held("one", "main", resource)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if got := n.Response("one", "main", resource).Envs["IDS"]; got != "c,a" {
		t.Errorf("response %q, want c,a", got)
	}
	refused(t, n.Admit(t.Context(), pod("two", 2)), "requested number of devices unavailable for "+resource+". Requested: 2, Available: 1")
	n.Delete("one")
	n.must(n.Admit(t.Context(), pod("three", 3)))
}

func TestInitContainersDevicesAreUsedAgain(t *testing.T) {
	n := start(t)
	n.serve(&plugin{}, "p.sock", "a")
	p := pod("one", 1)
	p.Containers = append([]fakekubelet.Container{{Name: "init", Init: true, Limits: map[string]int{resource: 1}}}, p.Containers...)
	n.must(n.Admit(t.Context(), p))
	if diff := cmp.Diff(n.Held("one", "init", resource), n.Held("one", "main", resource)); diff != "" {
		t.Errorf("devices (-init +main):\n%s", diff)
	}
}

func TestARebootedPodNeedsItsDevicesAndARunningOneDoesNot(t *testing.T) {
	n := start(t)
	refused(t, n.Admit(t.Context(), pod("early", 1)), "cannot allocate unregistered device "+resource)
	n.serve(&plugin{}, "p.sock", "a", "b")
	n.must(n.Admit(t.Context(), pod("one", 1)))
	n.must(n.Restart())
	if _, err := os.Lstat(filepath.Join(n.dir, "p.sock")); !os.IsNotExist(err) {
		t.Errorf("the plugin's socket is still there: %v", err)
	}
	n.must(n.Admit(t.Context(), pod("one", 1))) // it runs
	n.must(n.Reboot())
	refused(t, n.Admit(t.Context(), pod("one", 1)), "no healthy devices present; cannot allocate unhealthy devices "+resource)

	n.serve(&plugin{}, "p.sock", "a", "b")
	n.must(n.Admit(t.Context(), pod("two", 1)))
	n.must(n.Reboot())
	n.serve(&plugin{}, "p.sock", "b")
	refused(t, n.Admit(t.Context(), pod("two", 1)), "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "+resource)
}

func TestAPluginThatHasGoneLosesItsCapacityAfterFiveMinutes(t *testing.T) {
	n := start(t)
	s := n.serve(&plugin{}, "p.sock", "a", "b")
	s.Stop()
	n.eventually(func() bool { return n.Allocatable(resource) == 0 })
	n.now = n.now.Add(fakekubelet.StopGrace)
	if got := n.Node()[resource]; got.Capacity != 2 {
		t.Errorf("within the grace: %+v, want capacity 2", got)
	}
	n.now = n.now.Add(time.Second)
	if got, known := n.Node()[resource]; !known || got.Capacity != 0 {
		t.Errorf("after the grace: %+v, want the name with capacity 0", got)
	}
}

func TestAPathThatIsConnectedCannotBeRegisteredAgain(t *testing.T) {
	n := start(t)
	s := n.serve(&plugin{}, "p.sock", "a")
	refused(t, n.register("p.sock"), "device plugin already connected")
	s.Stop()
	os.Remove(filepath.Join(n.dir, "p.sock"))
	n.serve(&plugin{}, "q.sock", "a")
	if got := n.Connected(resource); got != 2 {
		t.Errorf("%d connections, want 2: the end of the first is never noticed", got)
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
