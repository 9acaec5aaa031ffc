// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// endpoint is one set served on one socket. It is used for one registration at
// most; the next one gets another endpoint.
type endpoint struct {
	pluginapi.UnimplementedDevicePluginServer

	// Immutable.
	set, path string
	node      Node
	cfg       Config
	log       logr.Logger
	server    *grpc.Server
	file      os.FileInfo   // what was at path when serving began
	ended     chan struct{} // closed: streams end
	withdrawn chan struct{} // closed: streams send an empty list, then end
	again     chan struct{} // a stream sends its list once more

	mu      sync.Mutex
	streams int
	idle    time.Time // when the last stream ended, or serving began
}

// serve begins to answer on a new socket.
func serve(log logr.Logger, node Node, cfg Config, set string) (*endpoint, error) {
	path, err := socketPath(cfg.Dir, set, cfg.Nonce())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve set %s: %w", set, err)
	}
	e := &endpoint{
		set: set, path: path, node: node, cfg: cfg,
		log:       log.WithValues("set", set),
		server:    grpc.NewServer(),
		file:      identity(path),
		ended:     make(chan struct{}),
		withdrawn: make(chan struct{}),
		again:     make(chan struct{}, 1),
		idle:      cfg.Now(),
	}
	pluginapi.RegisterDevicePluginServer(e.server, e)
	go func() {
		if err := e.server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			e.log.Error(err, "device plugin server ended")
		}
	}()
	return e, nil
}

// register announces the endpoint to the kubelet, which connects to it before
// it answers.
func (e *endpoint) register(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("unix://"+filepath.Join(e.cfg.Dir, kubeletSocket),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("dial kubelet: %w", err)
	}
	defer conn.Close() //nolint:errcheck // the call is over
	_, err = pluginapi.NewRegistrationClient(conn).Register(ctx, &pluginapi.RegisterRequest{
		Version:      pluginapi.Version,
		Endpoint:     filepath.Base(e.path),
		ResourceName: resourceName(e.set),
		Options:      e.options(),
	})
	if err != nil {
		return fmt.Errorf("register %s: %w", resourceName(e.set), err)
	}
	return nil
}

func (e *endpoint) options() *pluginapi.DevicePluginOptions {
	return &pluginapi.DevicePluginOptions{
		PreStartRequired:                e.cfg.PreStart != nil,
		GetPreferredAllocationAvailable: true,
	}
}

// stop ends the server. With withdraw the kubelet is told first that the set
// has no devices any more; otherwise it keeps them in mind for some minutes.
func (e *endpoint) stop(withdraw bool) {
	if withdraw {
		close(e.withdrawn)
	} else {
		close(e.ended)
	}
	timer := time.AfterFunc(time.Second, e.server.Stop)
	defer timer.Stop()
	e.server.GracefulStop() // also removes the socket
}

// refresh makes a stream send its list once more.
func (e *endpoint) refresh() {
	select {
	case e.again <- struct{}{}:
	default:
	}
}

// idleSince is when the endpoint was last left without a stream; connected is
// true while it has one.
func (e *endpoint) idleSince() (since time.Time, connected bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.idle, e.streams > 0
}

// touch starts the time without a stream anew.
func (e *endpoint) touch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.idle = e.cfg.Now()
}

// stream counts a stream in or out.
func (e *endpoint) stream(delta int) {
	e.mu.Lock()
	e.streams += delta
	e.idle = e.cfg.Now()
	e.mu.Unlock()
	e.cfg.Metrics.streams(e.set, delta)
}
