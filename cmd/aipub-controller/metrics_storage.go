// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	quotakube "aipub.io/aipub/quota/kube"
)

// storageMetrics is what the look at reservations of volume claims measures; only the
// leader has it.
type storageMetrics struct {
	reservations prometheus.Gauge
	ended        *prometheus.CounterVec
}

func newStorageMetrics(registry prometheus.Registerer) *storageMetrics {
	m := &storageMetrics{
		reservations: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "aipub_storage_reservations",
			Help: "Volume claims that were admitted and are not settled yet; at 2000 no more are admitted. Only the leader knows.",
		}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_storage_reservations_ended_total",
			Help: "Reservations of volume claims that ended, by result (Met, Unused).",
		}, []string{"result"}),
	}
	registry.MustRegister(m.reservations, m.ended)
	return m
}

// observe shows the outcome of a round.
func (m *storageMetrics) observe(round quotakube.StorageRound) {
	m.reservations.Set(float64(round.Reservations))
	m.ended.WithLabelValues("Met").Add(float64(round.Met))
	m.ended.WithLabelValues("Unused").Add(float64(round.Unused))
}
