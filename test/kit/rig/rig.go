// SPDX-License-Identifier: Apache-2.0

// Package rig joins the node's state, its device plugins and a fake kubelet
// over real unix sockets, for tests and benchmarks.
package rig

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// Patience is how long a condition may take to come true.
const Patience = 20 * time.Second

// Options change what New joins.
type Options struct {
	// Kubelet is the fake kubelet's behaviour; its Dir is set by the rig.
	Kubelet fakekubelet.Config
	// Plugins is the manager's configuration; its Dir is set by the rig.
	Plugins kubelet.Config
	// Down leaves the kubelet stopped.
	Down bool
	// Log receives the plugins' log; nothing when zero.
	Log logr.Logger
}

// Rig is a node with its plugins and its kubelet.
type Rig struct {
	T       testing.TB
	State   *node.State
	Kubelet *fakekubelet.Kubelet
	Dir     string
	// Manager is the running one, nil after StopPlugins.
	Manager *kubelet.Manager

	opts Options
	stop func()
	pods int
}

// New starts everything for a layout and ends it with the test. The test ends
// with the check of the node's invariants.
func New(t testing.TB, layout gpu.Layout, opts Options) *Rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "dp") // short: socket paths are limited
	if err != nil {
		t.Fatal(err)
	}
	opts.Kubelet.Dir, opts.Plugins.Dir = dir, dir
	r := &Rig{T: t, Dir: dir, State: node.New(node.Config{Settle: 100 * time.Millisecond}), Kubelet: fakekubelet.New(opts.Kubelet), opts: opts}
	r.State.SetLayout(layout)
	t.Cleanup(func() {
		r.StopPlugins()
		r.Kubelet.Stop()
		if err := node.Invariants(r.State.Snapshot()); err != nil {
			t.Errorf("invariants: %v", err)
		}
		os.RemoveAll(dir) // a temporary directory
	})
	if !opts.Down {
		r.Must(r.Kubelet.Start())
	}
	r.StartPlugins()
	return r
}

// StartPlugins starts the manager and the poller on the present state.
func (r *Rig) StartPlugins() {
	r.T.Helper()
	manager, err := kubelet.NewManager(r.State, r.opts.Plugins)
	r.Must(err)
	client, err := kubelet.DialPodResources(r.Kubelet.PodResourcesSocket())
	r.Must(err)
	trigger := make(chan struct{}, 1)
	poller := &kubelet.Poller{Lister: client, Observer: r.State, Pods: r.pods4node, Trigger: trigger, Interval: 50 * time.Millisecond, Soon: 10 * time.Millisecond}
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), r.opts.Log))
	var running sync.WaitGroup
	running.Go(func() {
		if err := manager.Run(ctx); err != nil {
			r.T.Errorf("run plugins: %v", err)
		}
	})
	running.Go(func() { poller.Run(ctx) })
	r.Manager = manager
	r.stop = func() {
		cancel()
		running.Wait()
		client.Close() // over
	}
}

// StopPlugins ends them as the agent's end does; the state stays.
func (r *Rig) StopPlugins() {
	if r.stop != nil {
		r.stop()
	}
	r.stop, r.Manager = nil, nil
}

// pods4node is the API server's view of the pods.
func (r *Rig) pods4node() ([]gpu.Pod, bool) {
	var all []gpu.Pod
	for _, p := range r.Kubelet.Pods() {
		pod := gpu.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Sets: map[string]int{}}
		for _, c := range p.Containers {
			for resource, n := range c.Limits {
				pod.Sets[resource[len(gpu.ResourcePrefix):]] += n
			}
		}
		all = append(all, pod)
	}
	return all, true
}

// Pod makes a pod of one container that asks for n slices of a set.
func (r *Rig) Pod(set string, n int) fakekubelet.Pod {
	r.pods++
	name := fmt.Sprintf("pod-%d", r.pods)
	return fakekubelet.Pod{UID: "uid-" + name, Namespace: "team", Name: name,
		Containers: []fakekubelet.Container{{Name: "main", Limits: map[string]int{gpu.ResourceName(set): n}}}}
}

// Admit asks the kubelet to run a pod.
func (r *Rig) Admit(pod fakekubelet.Pod) error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return r.Kubelet.Admit(ctx, pod)
}

// MustRun runs a pod of n slices of a set and returns it with their IDs.
func (r *Rig) MustRun(set string, n int) (fakekubelet.Pod, []string) {
	r.T.Helper()
	pod := r.Pod(set, n)
	if err := r.Admit(pod); err != nil {
		r.T.Fatalf("admit %s: %v", pod.Name, err)
	}
	return pod, r.Kubelet.Held(pod.UID, "main", gpu.ResourceName(set))
}

// Eventually waits until a condition about the kubelet is true.
func (r *Rig) Eventually(what string, cond func() bool) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := r.Kubelet.Wait(ctx, cond); err != nil {
		r.T.Fatalf("%s: not within %v; node status %v, registered %v", what, Patience, r.Kubelet.Node(), r.registered())
	}
}

// Allocatable waits until a set has n allocatable slices.
func (r *Rig) Allocatable(set string, n int) {
	r.T.Helper()
	r.Eventually(fmt.Sprintf("%d allocatable of %s", n, set), func() bool {
		return r.Kubelet.Allocatable(gpu.ResourceName(set)) == n
	})
}

func (r *Rig) registered() []string {
	if r.Manager == nil {
		return nil
	}
	return r.Manager.Registered()
}

// Must ends the test on an error.
func (r *Rig) Must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}
