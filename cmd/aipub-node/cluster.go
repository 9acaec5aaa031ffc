// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/kube"
)

// clusterRetry is the pause before a cluster that cannot be followed is tried
// again.
const clusterRetry = 5 * time.Second

// cluster keeps a watcher of the cluster alive: a node that starts before its
// API server must not give up.
type cluster struct {
	rest    *rest.Config
	config  kube.Config
	log     logr.Logger
	pods    chan struct{} // a pod of this node came, ended or went
	current atomic.Pointer[kube.Watcher]
}

func newCluster(rc *rest.Config, log logr.Logger, a *agent) *cluster {
	c := &cluster{rest: rc, log: log, pods: make(chan struct{}, 1)}
	c.config = kube.Config{
		Node: a.options.node, Log: log, Apply: a.apply,
		Served:      func() []string { return served(a.state.Snapshot()) },
		PodsChanged: func() { notify(c.pods) },
	}
	return c
}

// run follows the cluster until ctx ends.
func (c *cluster) run(ctx context.Context) error {
	for {
		w, err := kube.NewWatcher(c.rest, c.config)
		if err == nil {
			c.current.Store(w)
			err = w.Run(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		c.log.Error(err, "the cluster cannot be followed; trying again")
		if !pause(ctx, clusterRetry) {
			return nil
		}
	}
}

// poke asks for another look at what the node should be.
func (c *cluster) poke() {
	if w := c.current.Load(); w != nil {
		w.Poke()
	}
}

// podList are the node's pods that have not ended; false until the API server
// has been heard.
func (c *cluster) podList() ([]gpu.Pod, bool) {
	w := c.current.Load()
	if w == nil {
		return nil, false
	}
	pods, known, err := w.Pods(context.Background())
	if err != nil {
		c.log.Error(err, "list pods")
		return nil, false
	}
	return pods, known
}

func (c *cluster) podsChanged() <-chan struct{} { return c.pods }
