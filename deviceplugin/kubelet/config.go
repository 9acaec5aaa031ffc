// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"aipub.io/aipub/gpu"
)

// DefaultDir is where the kubelet looks for device plugins, whatever its root
// directory is.
const DefaultDir = "/var/lib/kubelet/device-plugins"

// Node is the node's truth as the device plugins need it.
type Node interface {
	// Snapshot returns the slices as they are now.
	Snapshot() gpu.Snapshot
	// Watch returns a channel that is ready when the snapshot may have changed.
	Watch() (changed <-chan struct{}, stop func())
	// Claim takes slices for a container, all or none. An error that has a
	// method MetricLabel() string is counted under that label.
	Claim(set string, ids []gpu.SliceID) error
}

// Response is what a container gets for its slices. The kubelet keeps it and
// uses it again after its own restart, so it may only carry names that stay
// true over restarts, reboots and the re-creation of hardware.
type Response struct {
	// CDIDevices are fully qualified names, such as aipub.io/set=ID.
	CDIDevices []string
	// Envs, Mounts and Devices serve runtimes without CDI.
	Envs    map[string]string
	Mounts  []Mount
	Devices []DeviceNode
	// Annotations are handed to the container runtime.
	Annotations map[string]string
}

// Mount is a path of the host in the container.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
}

// DeviceNode is a device file of the host in the container. Permissions are
// letters of "rwm".
type DeviceNode struct {
	HostPath, ContainerPath, Permissions string
}

// Config is what a Manager needs besides the node.
type Config struct {
	// Dir is the kubelet's plugin directory; DefaultDir when empty.
	Dir string
	// Response makes what a container gets for slices that it has been given,
	// all of one set. CDIResponse when nil.
	Response func(slices []gpu.Slice) (Response, error)
	// PreStart, when set, is called before each start of a container that holds
	// the slices, restarts included; the kubelet waits at most 30 s.
	PreStart func(ctx context.Context, ids []gpu.SliceID) error
	// Metrics are told what happens; any of its functions may be nil.
	Metrics Metrics
	// Resync is how often everything is looked at without a cause; 5 s when 0.
	Resync time.Duration
	// StreamGrace is how long a registered plugin may be without a stream of the
	// kubelet before it is registered anew; 2 s when 0.
	StreamGrace time.Duration
	// RetryMin and RetryMax bound the pause between attempts to register; 10 ms
	// and 3 s when 0. A new kubelet.sock ends the pause.
	RetryMin, RetryMax time.Duration
	// Now reads the clock; time.Now when nil.
	Now func() time.Time
	// Nonce returns a word that no earlier socket name had; random when nil.
	Nonce func() string
}

// CDIKind is the CDI vendor and class of slices.
const CDIKind = "aipub.io/set"

// CDIResponse gives a container its slices by their CDI device names alone.
func CDIResponse(slices []gpu.Slice) (Response, error) {
	var r Response
	for _, s := range slices {
		r.CDIDevices = append(r.CDIDevices, CDIKind+"="+string(s.ID))
	}
	return r, nil
}

func (c Config) withDefaults() (Config, error) {
	if c.RetryMin < 0 || c.RetryMax < 0 || c.Resync < 0 || c.StreamGrace < 0 {
		return c, errors.New("configure device plugins: durations must not be negative")
	}
	if c.Dir == "" {
		c.Dir = DefaultDir
	}
	if c.Response == nil {
		c.Response = CDIResponse
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Nonce == nil {
		c.Nonce = nonce
	}
	c.Resync = or(c.Resync, 5*time.Second)
	c.StreamGrace = or(c.StreamGrace, 2*time.Second)
	c.RetryMin = or(c.RetryMin, 10*time.Millisecond)
	c.RetryMax = or(c.RetryMax, 3*time.Second)
	return c, nil
}

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func nonce() string { return strings.ToLower(rand.Text()[:8]) }
