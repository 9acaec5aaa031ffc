// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node/activity"
)

// idleCollector turns what was seen of the holders' work into series at each
// scrape.
type idleCollector struct {
	works    func() map[gpu.SliceID]activity.Report
	snapshot func() gpu.Snapshot
}

var idleDesc = shareDesc("aipub_slice_idle_seconds",
	"How long the container of a held slice has shown no work, by signal (gpu, cpu or terminal); absent while that is not known.", "signal")

// Describe implements prometheus.Collector.
func (c idleCollector) Describe(ch chan<- *prometheus.Desc) { ch <- idleDesc }

// Collect implements prometheus.Collector.
func (c idleCollector) Collect(ch chan<- prometheus.Metric) {
	works := c.works()
	for _, st := range c.snapshot().Slices {
		r, ok := works[st.Slice.ID]
		if h := st.Holder; !ok || h.Namespace != r.Holder.Namespace || h.Pod != r.Holder.Pod || h.Container != r.Holder.Container {
			continue
		}
		for signal, idle := range r.Idle {
			ch <- prometheus.MustNewConstMetric(idleDesc, prometheus.GaugeValue, idle.Seconds(),
				st.Holder.Namespace, st.Holder.Pod, st.Holder.Container, st.Slice.Set, string(st.Slice.ID), string(signal))
		}
	}
}
