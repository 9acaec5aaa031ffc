// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// registrar is the registration service.
type registrar struct {
	pluginapi.UnimplementedRegistrationServer
	kubelet *Kubelet
}

// client is a connection to a plugin.
type client struct {
	resource, path string
	conn           *grpc.ClientConn
	api            pluginapi.DevicePluginClient
	options        *pluginapi.DevicePluginOptions
	cancel         context.CancelFunc
	streams        sync.WaitGroup
	stopped        time.Time // zero while connected
	// forgotten is set by a second registration of the path: the end of the
	// connection is not noticed any more.
	forgotten bool
}

func (c *client) close() {
	if c.cancel != nil {
		c.cancel()
		c.conn.Close() // over
		c.streams.Wait()
	}
}

// Register connects to the plugin before it answers.
func (r *registrar) Register(ctx context.Context, req *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	if req.Version != pluginapi.Version {
		return nil, fmt.Errorf("requested API version %q is not supported by kubelet. Supported versions are %q", req.Version, pluginapi.SupportedVersions)
	}
	if !strings.Contains(req.ResourceName, "/") {
		return nil, fmt.Errorf("the ResourceName %q is invalid", req.ResourceName)
	}
	return &pluginapi.Empty{}, r.kubelet.connect(ctx, req.ResourceName, filepath.Join(r.kubelet.cfg.Dir, req.Endpoint))
}

func (k *Kubelet) connect(ctx context.Context, resource, path string) error {
	conn, err := net.DialTimeout("unix", path, 10*time.Second)
	if err != nil {
		return fmt.Errorf("dial device plugin: %w", err)
	}
	conn.Close() // only asked whether somebody listens
	cc, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial device plugin: %w", err)
	}
	c := &client{resource: resource, path: path, conn: cc, api: pluginapi.NewDevicePluginClient(cc)}
	if c.options, err = c.api.GetDevicePluginOptions(ctx, &pluginapi.Empty{}); err != nil {
		cc.Close() // the first error counts
		return fmt.Errorf("get device plugin options: %w", err)
	}
	background, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.clients[resource][path]
	if old != nil || k.clients == nil {
		cancel()
		cc.Close() // the refusal counts
		if old == nil {
			return errors.New("kubelet is stopping")
		}
		old.forgotten = true
		return fmt.Errorf("device plugin already connected: %s", path)
	}
	if k.clients[resource] == nil {
		k.clients[resource] = map[string]*client{}
	}
	k.clients[resource][path] = c
	k.plugins[resource] = c
	k.signal()
	for range k.cfg.Streams {
		c.streams.Go(func() { k.follow(background, c) })
	}
	return nil
}

// follow reads device lists until the stream ends.
func (k *Kubelet) follow(ctx context.Context, c *client) {
	stream, err := c.api.ListAndWatch(ctx, &pluginapi.Empty{})
	for err == nil {
		var resp *pluginapi.ListAndWatchResponse
		if resp, err = stream.Recv(); err == nil {
			k.update(c.resource, resp.Devices)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.clients == nil || k.clients[c.resource][c.path] != c || c.forgotten {
		return
	}
	c.stopped = k.cfg.Now()
	delete(k.clients[c.resource], c.path)
	for _, other := range k.clients[c.resource] {
		k.plugins[c.resource] = other
		k.signal()
		return
	}
	k.healthy[c.resource] = map[string]bool{}
	k.signal()
}

// update takes over a device list.
func (k *Kubelet) update(resource string, devs []*pluginapi.Device) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.devices[resource] = map[string]*pluginapi.Device{}
	k.healthy[resource] = map[string]bool{}
	for _, d := range devs {
		k.devices[resource][d.ID] = d
		if d.Health == pluginapi.Healthy {
			k.healthy[resource][d.ID] = true
		}
	}
	k.checkpoint()
	k.signal()
}
