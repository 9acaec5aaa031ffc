// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"fmt"
	"net"

	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// LeaveBehind makes a socket file that nobody listens on, as kill -9 does.
func LeaveBehind(path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return
	}
	l.SetUnlinkOnClose(false)
	l.Close() // nothing was accepted
}

// Pretend makes the kubelet believe that these are the healthy devices of a
// resource, as when a list is on its way still.
func (k *Kubelet) Pretend(resource string, ids ...string) {
	var devs []*pluginapi.Device
	for _, id := range ids {
		devs = append(devs, &pluginapi.Device{ID: id, Health: pluginapi.Healthy})
	}
	k.update(resource, devs)
}

// Disconnect breaks the device list streams of a resource, as a message that is
// too long does. The kubelet does not connect again by itself.
func (k *Kubelet) Disconnect(resource string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.clients[resource] {
		c.cancel()
	}
}

// StartContainer starts a container, again if it ran: the plugin is asked first
// where it wanted to be.
func (k *Kubelet) StartContainer(ctx context.Context, uid, container string) error {
	k.mu.Lock()
	records := append([]record(nil), k.records...)
	k.mu.Unlock()
	for _, r := range records {
		if r.PodUID != uid || r.Container != container {
			continue
		}
		k.mu.Lock()
		p := k.plugins[r.Resource]
		k.mu.Unlock()
		if p == nil || p.options == nil || !p.options.PreStartRequired {
			continue
		}
		if _, err := p.api.PreStartContainer(ctx, &pluginapi.PreStartContainerRequest{DevicesIds: r.Devices}); err != nil {
			return fmt.Errorf("device plugin PreStartContainer rpc failed with err: %w", err)
		}
	}
	return nil
}
