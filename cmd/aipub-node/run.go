// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/nvml"
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
	klog.SetLogger(log)
	ctrllog.SetLogger(log)
	log.Info("starting", "version", version, "node", o.node)
	return serve(ctx, o, log)
}

func logger(o options) (logr.Logger, error) {
	level, err := o.level()
	if err != nil {
		return logr.Logger{}, err
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

// serve wires the agent to its cluster.
func serve(ctx context.Context, o options, log logr.Logger) error {
	ctx = logr.NewContext(ctx, log)
	m := newMetrics()
	p := usualPace()
	p.watch = nvml.WatchConfig{IgnoreXids: widen(o.ignoreXids), CriticalXids: widen(o.criticalXids)}
	a, err := newAgent(o, log, m, p)
	if err != nil {
		return err
	}
	rc, err := restConfig(o)
	if err != nil {
		return err
	}
	recorder, err := kube.NewRecorder(ctx, rc, o.node)
	if err != nil {
		return err
	}
	defer recorder.Close()
	client, err := kube.NewClient(rc)
	if err != nil {
		return err
	}
	saves, err := newSaver(rc, client, o, log)
	if err != nil {
		return err
	}
	return a.live(ctx, surroundings{
		save:    saves.run,
		cluster: newCluster(rc, log, a), publisher: kube.NewPublisher(client, o.node), events: recorder,
		withdraw: func(ctx context.Context) error { return kube.Withdraw(ctx, client, o.node) },
		evict:    func(ctx context.Context, p gpu.Pod) error { return kube.Evict(ctx, client, p) },
		lower: func(ctx context.Context, available map[string]int64) error {
			return kube.Lower(ctx, client, o.node, available)
		},
	})
}

// follower brings in what the cluster wants, through agent.apply.
type follower interface {
	// run follows the cluster until ctx ends; poke asks for another apply.
	run(ctx context.Context) error
	poke()
	// podList are the node's pods that have not ended; false until the API
	// server has been heard. podsChanged is filled when they change.
	podList() (pods []gpu.Pod, known bool)
	podsChanged() <-chan struct{}
}

// surroundings are the agent's ways in from the cluster and out to it.
type surroundings struct {
	cluster   follower
	publisher publisher
	events    events
	// withdraw hides the node's sets from the scheduler; nil where there is none.
	withdraw func(ctx context.Context) error
	// save saves containers before they are paused, until ctx ends; nil where there is
	// none.
	save func(ctx context.Context) error
	// evict ends a pod.
	evict func(ctx context.Context, p gpu.Pod) error
	// lower takes from the scheduler what is not available any more, by resource
	// name; nil where there is none.
	lower func(ctx context.Context, available map[string]int64) error
}

// live runs the stages, in the order of the flow, until ctx ends.
func (a *agent) live(ctx context.Context, s surroundings) error {
	a.mu.Lock()
	a.events = s.events
	believe := len(a.told.gpus) == 0
	a.mu.Unlock()
	o, m := a.options, a.metrics
	kubeletThere := newPresence()
	manager, err := kubelet.NewManager(a.state, kubelet.Config{Dir: o.pluginDir, Response: a.respond, Metrics: kubeletThere.count(m.plugin())})
	if err != nil {
		return err
	}
	resources, err := kubelet.DialPodResources(o.podResources)
	if err != nil {
		return err
	}
	defer func() { _ = resources.Close() }()
	poller := &kubelet.Poller{
		Lister: resources, Observer: a.state, Trigger: s.cluster.podsChanged(), Pods: s.cluster.podList,
		Interval: a.pace.observe, Soon: a.pace.soon, Metrics: m.plugin(),
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return m.serve(ctx, o.metricsAddress, a) })

	// The kubelet, before anything slow.
	g.Go(func() error { return manager.Run(ctx) })
	g.Go(func() error { poller.Run(ctx); return nil })
	g.Go(func() error { kubeletThere.run(ctx, a.log, s.withdraw); return nil })

	// The processes on block slices.
	g.Go(func() error { return a.sharing.run(ctx, a.state) })
	g.Go(func() error { a.audit(ctx, treatment{pods: s.cluster.podList, evict: s.evict}); return nil })
	g.Go(func() error { a.guard(ctx); return nil })
	g.Go(func() error { a.lendMemory(ctx, s.cluster.podList); return nil })
	g.Go(func() error { a.followActivity(ctx, s.cluster.podList); return nil })
	g.Go(func() error { a.followShares(ctx); return nil })

	// The hardware and the cluster.
	poke := s.cluster.poke
	g.Go(func() error {
		return a.hardware.run(ctx, lookout{
			sys: o.sys, believe: believe, ready: poke, all: a.withSilent,
			emit: func(e nvml.Event) { a.health(e, poke) },
		})
	})
	g.Go(func() error { return s.cluster.run(ctx) })
	if s.save != nil {
		g.Go(func() error { return s.save(ctx) })
	}

	// And back out.
	g.Go(func() error { a.lower(ctx, s.lower); return nil })
	g.Go(func() error { a.follow(ctx, s.publisher, poke); return nil })
	return g.Wait()
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

func widen(in []uint) []uint64 {
	var out []uint64
	for _, n := range in {
		out = append(out, uint64(n))
	}
	return out
}
