// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/partitioner/kube"
	"aipub.io/aipub/quota/admission"
)

// metrics is everything that the controller measures itself; what
// controller-runtime measures stands beside it.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	slices   *prometheus.GaugeVec
	policies *prometheus.GaugeVec
	gates    *gateMetrics
	storage  *storageMetrics
	reclaim  *reclaimMetrics
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
		slices: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "aipub_resourceset_slices",
			Help: "Slices of each ResourceSet in the cluster, by state (total, free, held); only the leader knows.",
		}, []string{"set", "state"}),
		policies: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "aipub_partitionpolicy_ready",
			Help: "1 where a PartitionPolicy is in force, else 0, by its reason; only the leader knows.",
		}, []string{"policy", "reason"}),
		gates:   newGateMetrics(registry),
		storage: newStorageMetrics(registry),
		reclaim: newReclaimMetrics(registry),
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
	registry.MustRegister(m.requests, m.duration, m.slices, m.policies, certificate, build)
	return m
}

// Decided counts an admission review.
func (m *metrics) Decided(kind, decision string, reason admission.Reason, took time.Duration) {
	m.requests.WithLabelValues(kind, decision, string(reason)).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}

// observe shows the outcome of a round of the policy controller.
func (m *metrics) observe(out kube.Outcome) {
	m.slices.Reset()
	for name, set := range out.Sets {
		m.slices.WithLabelValues(name, "total").Set(float64(set.Status.Total))
		m.slices.WithLabelValues(name, "free").Set(float64(set.Status.Free))
		m.slices.WithLabelValues(name, "held").Set(float64(set.Status.Held))
	}
	m.policies.Reset()
	for name, status := range out.Policies {
		for _, condition := range status.Conditions {
			if condition.Type == v1alpha1.ConditionReady {
				ready := 0.0
				if condition.Status == metav1.ConditionTrue {
					ready = 1
				}
				m.policies.WithLabelValues(name, condition.Reason).Set(ready)
			}
		}
	}
}
