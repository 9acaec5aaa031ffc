// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
	"aipub.io/aipub/test/kit/fakekubelet"
)

// fakeCluster hands in what a test wants, as the watcher of the real one does:
// one apply at a time, again after an error.
type fakeCluster struct {
	apply   func(context.Context, kube.Desired) error
	kubelet *fakekubelet.Kubelet
	asked   chan struct{}
	pods    chan struct{}

	mu      sync.Mutex
	desired *kube.Desired
	down    bool
	// containers is the ID of each pod's container "main", by the pod's UID.
	containers map[string]string
}

func newFakeCluster() *fakeCluster {
	return &fakeCluster{asked: make(chan struct{}, 1), pods: make(chan struct{}, 1)}
}

// set changes what the cluster wants.
func (c *fakeCluster) set(d kube.Desired) {
	c.mu.Lock()
	c.desired = &d
	c.mu.Unlock()
	c.poke()
}

// reach makes the API server reachable or not.
func (c *fakeCluster) reach(yes bool) {
	c.mu.Lock()
	c.down = !yes
	c.mu.Unlock()
	c.poke()
}

func (c *fakeCluster) now() (kube.Desired, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down || c.desired == nil {
		return kube.Desired{}, false
	}
	return *c.desired, true
}

func (c *fakeCluster) run(ctx context.Context) error {
	c.poke() // the first look at a cluster is not asked for
	for {
		var retry <-chan time.Time
		if d, ok := c.now(); ok {
			if err := c.apply(ctx, d); err != nil {
				retry = time.After(50 * time.Millisecond)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.asked:
		case <-retry:
		}
	}
}

func (c *fakeCluster) poke() { notify(c.asked) }

func (c *fakeCluster) podsChanged() <-chan struct{} { return c.pods }

func (c *fakeCluster) podList() ([]gpu.Pod, bool) {
	if _, ok := c.now(); !ok {
		return nil, false
	}
	var all []gpu.Pod
	for _, p := range c.kubelet.Pods() {
		pod := gpu.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Sets: map[string]int{}}
		for _, container := range p.Containers {
			for resource, n := range container.Limits {
				pod.Sets[strings.TrimPrefix(resource, gpu.ResourcePrefix)] += n
			}
		}
		c.mu.Lock()
		pod.Containers = map[string]string{"main": c.containers[p.UID]}
		c.mu.Unlock()
		all = append(all, pod)
	}
	return all, true
}

// reports keeps the last NodePartition status.
type reports struct {
	mu   sync.Mutex
	last api.NodePartitionStatus
}

// Publish implements publisher.
func (r *reports) Publish(_ context.Context, _ types.UID, s api.NodePartitionStatus) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = s
	return nil
}

func (r *reports) status() api.NodePartitionStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *reports) reason() string {
	if c := r.status().Conditions; len(c) == 1 {
		return c[0].Reason
	}
	return ""
}

func (r *reports) message() string {
	if c := r.status().Conditions; len(c) == 1 {
		return c[0].Message
	}
	return ""
}

// news keeps the events.
type news struct {
	mu   sync.Mutex
	list []string
}

// Announce implements events.
func (n *news) AnnouncePod(_ gpu.Pod, kind, reason, message string) {
	n.Announce("", kind, reason, message)
}

func (n *news) Announce(uid types.UID, kind, reason, _ string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, fmt.Sprintf("%s %s %s", uid, kind, reason))
}

// has reports whether an event of this kind and reason was told.
func (n *news) has(kind, reason string) bool { return n.count(kind, reason) > 0 }

func (n *news) count(kind, reason string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := 0
	for _, e := range n.list {
		if e == fmt.Sprintf("uid-gpu-1 %s %s", kind, reason) {
			found++
		}
	}
	return found
}
