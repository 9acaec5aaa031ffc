// SPDX-License-Identifier: Apache-2.0

package fakekubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// StopGrace is how long the capacity of a plugin that has gone is kept.
const StopGrace = 5 * time.Minute

// Config says how the kubelet behaves. The zero value with Dir is usual.
type Config struct {
	// Dir is the plugin directory. Keep it short: socket paths are limited.
	Dir string
	// Streams is how many device list streams it opens to each plugin; 1 when 0,
	// none when negative.
	Streams int
	// Now reads the clock; time.Now when nil.
	Now func() time.Time
}

// Kubelet is a fake kubelet. Make it with New.
type Kubelet struct {
	cfg Config

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced at each change
	server    *grpc.Server
	listeners []net.Listener
	plugins   map[string]*client            // by resource: the one in use
	clients   map[string]map[string]*client // by resource and socket path
	devices   map[string]map[string]*pluginapi.Device
	healthy   map[string]map[string]bool
	allocated map[string]map[string]bool
	records   []record // what the checkpoint holds
	pods      map[string]*Pod
	running   map[string]bool // containers that run, by pod UID and name
	ready     bool            // the pods are known after a start
}

// New returns a kubelet that is not running.
func New(cfg Config) *Kubelet {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Streams == 0 {
		cfg.Streams = 1
	}
	return &Kubelet{cfg: cfg, changed: make(chan struct{}), pods: map[string]*Pod{}, running: map[string]bool{}}
}

// PodResourcesSocket is where it answers who holds what.
func (k *Kubelet) PodResourcesSocket() string {
	return filepath.Join(k.cfg.Dir, "pod-resources", "kubelet.sock")
}

func (k *Kubelet) socket() string { return filepath.Join(k.cfg.Dir, "kubelet.sock") }

// Start reads the checkpoint, removes all sockets and begins to listen. Pods
// that it had are known at once; see StartBlind.
func (k *Kubelet) Start() error {
	if err := k.StartBlind(); err != nil {
		return err
	}
	k.Sync()
	return nil
}

// StartBlind is Start before the pods have come from the API server: PodResources
// lists none, and nothing is freed, until Sync.
func (k *Kubelet) StartBlind() error {
	if err := os.MkdirAll(filepath.Dir(k.PodResourcesSocket()), 0o750); err != nil {
		return fmt.Errorf("make directories: %w", err)
	}
	records, resources, err := readCheckpoint(k.cfg.Dir)
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.plugins, k.clients = map[string]*client{}, map[string]map[string]*client{}
	k.devices = map[string]map[string]*pluginapi.Device{}
	k.healthy = map[string]map[string]bool{}
	for _, r := range resources {
		k.healthy[r] = map[string]bool{}
		k.plugins[r] = &client{resource: r, stopped: k.cfg.Now()}
	}
	k.records, k.ready = records, false
	k.recount()
	k.mu.Unlock()
	if err := k.clean(); err != nil {
		return err
	}
	return k.listen()
}

// Sync is the arrival of the pods from the API server.
func (k *Kubelet) Sync() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready = true
	k.signal()
}

// clean removes every socket in the directory.
func (k *Kubelet) clean() error {
	files, err := os.ReadDir(k.cfg.Dir)
	if err != nil {
		return fmt.Errorf("list plugin directory: %w", err)
	}
	for _, f := range files {
		if f.Type()&fs.ModeSocket == 0 {
			continue
		}
		if err := os.Remove(filepath.Join(k.cfg.Dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove socket: %w", err)
		}
	}
	return nil
}

func (k *Kubelet) listen() error {
	os.Remove(k.PodResourcesSocket()) // usually absent
	lists, err := net.Listen("unix", k.PodResourcesSocket())
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	registrations, err := net.Listen("unix", k.socket())
	if err != nil {
		lists.Close() // the first error counts
		return fmt.Errorf("listen: %w", err)
	}
	server := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(server, &registrar{kubelet: k})
	podresources.RegisterPodResourcesListerServer(server, &lister{kubelet: k})
	k.mu.Lock()
	k.server, k.listeners = server, []net.Listener{registrations, lists}
	k.mu.Unlock()
	for _, l := range []net.Listener{registrations, lists} {
		go server.Serve(l) // ends with Stop
	}
	return nil
}

// Stop ends the process; containers keep running. Its socket is removed.
func (k *Kubelet) Stop() { k.end(true) }

// Kill ends the process as kill -9 does: its socket stays behind, with nobody
// listening.
func (k *Kubelet) Kill() { k.end(false) }

func (k *Kubelet) end(clean bool) {
	k.mu.Lock()
	server, clients, listeners := k.server, k.clients, k.listeners
	k.server, k.clients, k.listeners = nil, nil, nil
	k.mu.Unlock()
	for _, byPath := range clients {
		for _, c := range byPath {
			c.close()
		}
	}
	if server == nil {
		return
	}
	server.Stop()
	for _, l := range listeners {
		l.Close() // closed already, unless it was not served yet
	}
	if !clean {
		LeaveBehind(k.socket())
	}
}

// Restart is Stop and Start.
func (k *Kubelet) Restart() error {
	k.Stop()
	return k.Start()
}

// Reboot restarts the machine: no container runs afterwards, and every pod has
// to be admitted again.
func (k *Kubelet) Reboot() error {
	k.Stop()
	k.mu.Lock()
	k.running = map[string]bool{}
	k.mu.Unlock()
	return k.Start()
}

// signal wakes everybody who waits. k.mu is held.
func (k *Kubelet) signal() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// Wait returns when cond is true, or ctx's error. cond is asked after each
// change and now and then besides, and may call the kubelet.
func (k *Kubelet) Wait(ctx context.Context, cond func() bool) error {
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
