// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"aipub.io/aipub/sharer"
)

// shareCollector turns the report into series at each scrape.
type shareCollector struct{ report func() sharer.Report }

var tenantLabels = []string{"namespace", "pod", "container", "set", "slice"}

func shareDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(append([]string{}, tenantLabels...), more...), nil)
}

var (
	shareGuaranteedDesc = shareDesc("aipub_share_guaranteed_ratio", "Guaranteed part of a GPU's time, 0 to 1 for each GPU.")
	shareUsedDesc       = shareDesc("aipub_share_used_seconds_total", "Time that the container had the GPU.")
	shareLentDesc       = shareDesc("aipub_share_lent_seconds_total", "Guaranteed time that others used, since the container left it idle.")
	shareBorrowedDesc   = shareDesc("aipub_share_borrowed_seconds_total", "Time used beyond the guarantee.")
	shareWaitedDesc     = shareDesc("aipub_share_waited_seconds_total", "Time that the container's work waited for the GPU.")
	shareReclaimDesc    = shareDesc("aipub_share_reclaim_seconds", "How long a waking owner waited for a GPU that somebody else had.")
	shareLongestDesc    = shareDesc("aipub_share_longest_command_seconds", "Longest single kernel, graph or copy: what no reclaim can interrupt.")
	shareLaunchesDesc   = shareDesc("aipub_share_launches_total", "Kernels and graphs launched.")
	shareMemoryDesc     = shareDesc("aipub_share_memory_bytes", "Device memory of the container's processes.")
	shareLimitDesc      = shareDesc("aipub_share_memory_limit_bytes", "Device memory that they may have.")
	shareRefusedDesc    = shareDesc("aipub_share_memory_refusals_total", "Allocations refused for the limit.")
	shareProcessesDesc  = shareDesc("aipub_share_processes", "Processes with the limiter attached.")
	shareFindingsDesc   = shareDesc("aipub_share_findings", "Processes that are not within what the slice allows, by reason.", "reason")
)

// Describe implements prometheus.Collector.
func (c shareCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		shareGuaranteedDesc, shareUsedDesc, shareLentDesc, shareBorrowedDesc, shareWaitedDesc, shareReclaimDesc, shareLongestDesc,
		shareLaunchesDesc, shareMemoryDesc, shareLimitDesc, shareRefusedDesc, shareProcessesDesc, shareFindingsDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c shareCollector) Collect(ch chan<- prometheus.Metric) {
	for _, t := range c.report().Tenants {
		labels := []string{t.Namespace, t.Pod, t.Container, t.Set, strings.Join(t.Slices, ",")}
		counter := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
		}
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
		}
		gauge(shareGuaranteedDesc, float64(t.Percent)/100)
		counter(shareUsedDesc, t.Used.Seconds())
		counter(shareLentDesc, t.Lent.Seconds())
		counter(shareBorrowedDesc, t.Borrowed.Seconds())
		counter(shareWaitedDesc, t.Waited.Seconds())
		counter(shareLaunchesDesc, float64(t.Launches))
		counter(shareRefusedDesc, float64(t.MemoryRefused))
		gauge(shareLongestDesc, t.Longest.Seconds())
		gauge(shareMemoryDesc, float64(t.MemoryBytes))
		gauge(shareLimitDesc, float64(t.MemoryLimitBytes))
		gauge(shareProcessesDesc, float64(t.Processes))
		ch <- reclaimHistogram(t, labels)
		reasons := map[string]int{}
		for _, f := range t.Findings {
			reasons[f.Reason]++
		}
		for reason, n := range reasons {
			ch <- prometheus.MustNewConstMetric(shareFindingsDesc, prometheus.GaugeValue, float64(n), append(append([]string{}, labels...), reason)...)
		}
	}
}

func reclaimHistogram(t sharer.TenantReport, labels []string) prometheus.Metric {
	buckets, count := map[float64]uint64{}, uint64(0)
	for i, n := range t.Reclaims {
		count += n
		if i < len(sharer.ReclaimBounds) {
			buckets[sharer.ReclaimBounds[i].Seconds()] = count
		}
	}
	return prometheus.MustNewConstHistogram(shareReclaimDesc, count, t.ReclaimSum.Seconds(), buckets, labels...)
}
