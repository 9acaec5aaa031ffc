// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
	"aipub.io/aipub/node"
	"aipub.io/aipub/node/host"
	"aipub.io/aipub/node/kube"
)

// run is the whole life of the agent.
func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.version {
		fmt.Println(version)
		return nil
	}
	log, err := logger(o)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, "node", o.node)
	return serve(ctx, o, log)
}

func logger(o options) (logr.Logger, error) {
	level, err := o.level()
	if err != nil {
		return logr.Logger{}, err
	}
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	klog.SetLogger(log)
	ctrllog.SetLogger(log)
	return log, nil
}

// serve wires the stages in the order of the flow.
func serve(ctx context.Context, o options, log logr.Logger) error {
	m := newMetrics()

	// What was remembered, and the node's truth.
	bootID, err := host.BootID(o.proc)
	if err != nil {
		return err
	}
	memory, err := openMemory(o.stateDir, log)
	if err != nil {
		return err
	}
	state := node.New(node.Config{})
	remembered, err := memory.recall(state, bootID)
	if err != nil {
		return err
	}
	said := make(chan struct{}, 1)
	a := &agent{
		log: log, options: o, state: state, metrics: m, memory: memory, bootID: bootID,
		specs:    &specs{options: o},
		hardware: &hardware{config: nvml.Config{LibraryPath: library(o.nvmlLibrary, o.driverMount), Sysfs: o.sys}, log: log},
		changed:  func() { notify(said) },
	}
	a.told.gpus = remembered.Facts.GPUs

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return m.serve(ctx, o.metricsAddress, a) })

	// The kubelet, before anything slow.
	manager, err := kubelet.NewManager(state, kubelet.Config{Dir: o.pluginDir, Response: respond, Metrics: m.plugin()})
	if err != nil {
		return err
	}
	g.Go(func() error { return manager.Run(ctx) })

	// The cluster.
	cluster, err := newCluster(o, log, a)
	if err != nil {
		return err
	}
	g.Go(func() error { return cluster.run(ctx) })
	poller, closePoller, err := newPoller(o, state, cluster, m)
	if err != nil {
		return err
	}
	defer closePoller()
	g.Go(func() error { poller.Run(ctx); return nil })

	// The hardware.
	watch := nvml.WatchConfig{IgnoreXids: widen(o.ignoreXids), CriticalXids: widen(o.criticalXids)}
	believe := len(remembered.Facts.GPUs) == 0
	g.Go(func() error {
		return a.hardware.run(ctx, o.sys, believe, watch, cluster.poke, func(e nvml.Event) { a.health(e, cluster.poke) })
	})

	// And back out.
	client, err := cluster.client()
	if err != nil {
		return err
	}
	g.Go(func() error { return a.follow(ctx, kube.NewPublisher(client, o.node), said, cluster.poke) })
	return g.Wait()
}

// respond names what a container gets. Everything behind the names is in spec
// files that follow the hardware.
func respond(granted []gpu.Slice) (kubelet.Response, error) {
	var names []string
	for _, s := range granted {
		for _, n := range cdi.Names(s) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return kubelet.Response{CDIDevices: names}, nil
}

func newPoller(o options, state *node.State, c *cluster, m *metrics) (*kubelet.Poller, func(), error) {
	resources, err := kubelet.DialPodResources(o.podResources)
	if err != nil {
		return nil, nil, err
	}
	p := &kubelet.Poller{
		Lister: resources, Observer: state, Trigger: c.pods, Metrics: m.plugin(), Pods: c.podList,
	}
	return p, func() { _ = resources.Close() }, nil
}

// served are the resource names that the node advertises.
func served(s gpu.Snapshot) []string {
	var names []string
	for _, set := range deviceplugin.Sets(s) {
		names = append(names, gpu.ResourceName(set))
	}
	return names
}

func restConfig(o options) (*rest.Config, error) {
	if o.kubeconfig == "" {
		c, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("reach the cluster: %w; outside a pod, give --kubeconfig", err)
		}
		return c, nil
	}
	c, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", o.kubeconfig, err)
	}
	return c, nil
}

// notify fills a channel of one without blocking.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func widen(in []uint) []uint64 {
	var out []uint64
	for _, n := range in {
		out = append(out, uint64(n))
	}
	return out
}

// clusterRetry is the pause before the cluster is tried again.
const clusterRetry = 5 * time.Second
