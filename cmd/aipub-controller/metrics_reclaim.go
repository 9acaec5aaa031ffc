// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aipub.io/aipub/reclaim/kube"
)

// reclaimMetrics is what ReclaimPolicies do; only the leader has it.
type reclaimMetrics struct {
	warnings, pauses *prometheus.CounterVec
	late             prometheus.Histogram
	undelivered      prometheus.Counter
}

func newReclaimMetrics(registry prometheus.Registerer) *reclaimMetrics {
	m := &reclaimMetrics{
		warnings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_reclaim_warnings_total",
			Help: "Warnings that something will be paused, by reason (OccupancyLimit, Idle).",
		}, []string{"reason"}),
		pauses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_reclaim_pauses_total",
			Help: "Pauses by a ReclaimPolicy, by reason (OccupancyLimit, Idle).",
		}, []string{"reason"}),
		late: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "aipub_reclaim_late_seconds",
			Help:    "Time from a deadline to the pause that was begun for it.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}),
		undelivered: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "aipub_reclaim_notices_undelivered_total",
			Help: "Notices that the URL of a ReclaimPolicy did not take.",
		}),
	}
	registry.MustRegister(m.warnings, m.pauses, m.late, m.undelivered)
	return m
}

// Warned counts a warning.
func (m *reclaimMetrics) Warned(reason string) { m.warnings.WithLabelValues(reason).Inc() }

// Paused counts a pause.
func (m *reclaimMetrics) Paused(reason string, late time.Duration) {
	m.pauses.WithLabelValues(reason).Inc()
	m.late.Observe(late.Seconds())
}

func (m *reclaimMetrics) notifyFailed(kube.Notice, error) { m.undelivered.Inc() }
