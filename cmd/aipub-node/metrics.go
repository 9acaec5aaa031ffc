// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
)

// metrics is everything that the agent counts. docs/metrics.md describes it.
type metrics struct {
	registry      *prometheus.Registry
	registrations *prometheus.CounterVec
	allocations   *prometheus.HistogramVec
	refusals      *prometheus.CounterVec
	listUpdates   *prometheus.HistogramVec
	streams       *prometheus.GaugeVec
	observations  *prometheus.HistogramVec
	steps         *prometheus.HistogramVec
	applies       *prometheus.CounterVec
	memorySteps   *prometheus.CounterVec
}

var (
	fast = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
	slow = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
)

func newMetrics() *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry:      prometheus.NewRegistry(),
		registrations: counter("aipub_plugin_registrations_total", "Attempts to register a set with the kubelet, by result (ok or error).", "set", "result"),
		allocations:   histogram("aipub_plugin_allocate_seconds", "Time to answer the kubelet's Allocate.", fast, "set"),
		refusals:      counter("aipub_plugin_allocate_refusals_total", "Allocate calls that were refused; reason Overlap is a race between two sizes for one GPU.", "set", "reason"),
		listUpdates:   histogram("aipub_plugin_list_update_seconds", "Time from a change of state to the list sent to the kubelet.", fast, "set"),
		streams:       prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aipub_plugin_streams", Help: "ListAndWatch streams that are connected; 0 means that the kubelet does not listen."}, []string{"set"}),
		observations:  histogram("aipub_pod_resources_seconds", "Time to ask the kubelet who holds what, by result.", fast, "result"),
		steps:         histogram("aipub_partition_step_seconds", "Time of one change to the hardware, by kind and result.", slow, "kind", "result"),
		applies:       counter("aipub_partition_applies_total", "Attempts to make the node what its policy says, by reason (Applied when it is).", "reason"),
	}
	m.memorySteps = counter("aipub_memory_steps_total", "Steps by which device memory beyond a guarantee was taken back or lent again, by kind and reason.", "kind", "reason")
	m.registry.MustRegister(m.registrations, m.allocations, m.refusals, m.listUpdates, m.streams, m.observations, m.steps, m.applies, m.memorySteps,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "aipub_node_build_info", Help: "Always 1; the version is a label.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(build)
	return m
}

func result(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}

// plugin is what the device plugins report to.
func (m *metrics) plugin() kubelet.Metrics {
	return kubelet.Metrics{
		Registered: func(set string, _ time.Duration, err error) {
			m.registrations.WithLabelValues(set, result(err)).Inc()
			m.refusals.WithLabelValues(set, string(node.ReasonOverlap)) // zero from the start, so that rate() sees the first one
		},
		Allocated: func(set string, took time.Duration, refusal string) {
			m.allocations.WithLabelValues(set).Observe(took.Seconds())
			if refusal != "" {
				m.refusals.WithLabelValues(set, refusal).Inc()
			}
		},
		Listed:  func(set string, after time.Duration) { m.listUpdates.WithLabelValues(set).Observe(after.Seconds()) },
		Streams: func(set string, delta int) { m.streams.WithLabelValues(set).Add(float64(delta)) },
		// A set that is gone must not look like one to which the kubelet does not listen.
		Withdrawn: func(set string) { m.streams.DeleteLabelValues(set) },
		Observed: func(took time.Duration, err error) {
			m.observations.WithLabelValues(result(err)).Observe(took.Seconds())
		},
	}
}

// stateCollector turns the node's snapshot into gauges at each scrape.
type stateCollector struct {
	snapshot func() gpu.Snapshot
	gpus     func() []gpu.GPU
}

var (
	slicesDesc = prometheus.NewDesc("aipub_slices", "Slices of a set by state.", []string{"set", "state"}, nil)
	holderDesc = prometheus.NewDesc("aipub_slice_info", "Always 1: which container holds which slice on which GPU. Joins with DCGM's series on UUID and GPU_I_ID.",
		[]string{"slice", "set", "namespace", "pod", "container", "gpu", "UUID", "GPU_I_ID", "GPU_I_PROFILE", "block_percent"}, nil)
	healthDesc = prometheus.NewDesc("aipub_gpu_healthy", "1 while the GPU may be handed out; reason says why not.", []string{"gpu", "UUID", "model", "reason"}, nil)
	memoryDesc = prometheus.NewDesc("aipub_gpu_memory_bytes", "Device memory of the GPU.", []string{"gpu", "UUID", "model"}, nil)
)

// Describe implements prometheus.Collector.
func (c stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{slicesDesc, holderDesc, healthDesc, memoryDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c stateCollector) Collect(ch chan<- prometheus.Metric) {
	snap, index := c.snapshot(), map[string]string{}
	for _, g := range c.gpus() {
		id := strconv.Itoa(g.Index)
		index[g.UUID] = id
		health, ok := snap.GPUs[g.UUID]
		healthy := 0.0
		if health.OK || !ok {
			healthy = 1
		}
		ch <- prometheus.MustNewConstMetric(healthDesc, prometheus.GaugeValue, healthy, id, g.UUID, g.Model, health.Reason)
		ch <- prometheus.MustNewConstMetric(memoryDesc, prometheus.GaugeValue, float64(g.MemoryBytes), id, g.UUID, g.Model)
	}
	counts := map[[2]string]int{}
	for _, st := range snap.Slices {
		for _, state := range []gpu.State{gpu.StateFree, gpu.StateHeld, gpu.StateBlocked, gpu.StateUnhealthy} {
			counts[[2]string{st.Slice.Set, string(state)}] += 0
		}
		counts[[2]string{st.Slice.Set, string(st.State)}]++
		if st.State == gpu.StateHeld || st.State == gpu.StateRetired {
			c.holders(ch, st, index)
		}
	}
	for key, n := range counts {
		ch <- prometheus.MustNewConstMetric(slicesDesc, prometheus.GaugeValue, float64(n), key[0], key[1])
	}
}

// holders writes one series per GPU of a held slice.
func (c stateCollector) holders(ch chan<- prometheus.Metric, st gpu.Status, index map[string]string) {
	gi, profile, percent := "", "", ""
	if st.Slice.MIG != nil {
		profile = st.Slice.MIG.Profile.Name
	}
	if st.Instance != nil {
		gi = strconv.Itoa(st.Instance.GIID)
	}
	if st.Slice.Block != nil {
		percent = strconv.Itoa(st.Slice.Block.Percent)
	}
	uuids := st.Slice.GPUs
	if len(uuids) == 0 {
		uuids = []string{""}
	}
	for _, u := range uuids {
		ch <- prometheus.MustNewConstMetric(holderDesc, prometheus.GaugeValue, 1, string(st.Slice.ID), st.Slice.Set,
			st.Holder.Namespace, st.Holder.Pod, st.Holder.Container, index[u], u, gi, profile, percent)
	}
}
