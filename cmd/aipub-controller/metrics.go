// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"aipub.io/aipub/quota/admission"
)

// metrics is everything that the controller measures itself; what
// controller-runtime measures stands beside it.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// newMetrics registers the metrics. expiry is the end of the webhook
// certificate's life, zero before there is one.
func newMetrics(registry prometheus.Registerer, expiry func() time.Time) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_admission_requests_total",
			Help: "Admission reviews, by webhook, decision (allowed, refused, failed) and the first reason.",
		}, []string{"kind", "decision", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "aipub_admission_duration_seconds",
			Help:    "Time from reading an admission review to its answer, by webhook.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5},
		}, []string{"kind"}),
	}
	certificate := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "aipub_webhook_certificate_expiry_timestamp_seconds",
		Help: "When the served webhook certificate expires, in seconds since 1970; 0 before there is one.",
	}, func() float64 {
		if end := expiry(); !end.IsZero() {
			return float64(end.Unix())
		}
		return 0
	})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "aipub_controller_build_info",
		Help:        "Always 1; the label says which version runs.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	registry.MustRegister(m.requests, m.duration, certificate, build)
	return m
}

// Decided counts an admission review.
func (m *metrics) Decided(kind, decision string, reason admission.Reason, took time.Duration) {
	m.requests.WithLabelValues(kind, decision, string(reason)).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}
