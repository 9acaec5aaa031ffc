// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/prometheus/client_golang/prometheus"

	quotakube "aipub.io/aipub/quota/kube"
)

// gateMetrics is what the loop that opens gates measures; only the leader has it.
type gateMetrics struct {
	opened, evicted   *prometheus.CounterVec
	waiting           *prometheus.GaugeVec
	decision          prometheus.Histogram
	epoch             prometheus.Gauge
	conflicts, doubts prometheus.Counter
}

func newGateMetrics(registry prometheus.Registerer) *gateMetrics {
	m := &gateMetrics{
		opened: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_gates_opened_total",
			Help: "Gates opened, by grade (Within, Headroom, Borrowed, Surge, Unmanaged).",
		}, []string{"grade"}),
		evicted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aipub_gates_yielded_total",
			Help: "Pods asked to give back quota that stands above their own, by reason.",
		}, []string{"reason"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "aipub_gates_waiting_pods",
			Help: "Pods whose gate is closed, by project and reason; only the leader knows.",
		}, []string{"project", "reason"}),
		decision: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "aipub_gates_decision_seconds",
			Help:    "Time to decide which gates to open, without the requests that open them.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		epoch: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "aipub_gates_epoch",
			Help: "How often leadership of the gates was taken over; only the leader knows.",
		}),
		conflicts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "aipub_gates_conflicts_total",
			Help: "Openings that found the pod changed and were decided or sent anew.",
		}),
		doubts: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "aipub_gates_unknown_total",
			Help: "Openings whose outcome was unknown and had to be settled.",
		}),
	}
	registry.MustRegister(m.opened, m.evicted, m.waiting, m.decision, m.epoch, m.conflicts, m.doubts)
	return m
}

// opened shows the outcome of a round of the loop that opens gates.
func (m *metrics) opened(round quotakube.Round) {
	g := m.gates
	for grade, n := range round.Opened {
		g.opened.WithLabelValues(grade).Add(float64(n))
	}
	for reason, n := range round.Yielded {
		g.evicted.WithLabelValues(reason).Add(float64(n))
	}
	if round.Waiting != nil {
		g.waiting.Reset()
		for key, n := range round.Waiting {
			g.waiting.WithLabelValues(key.Project, key.Reason).Set(float64(n))
		}
	}
	g.decision.Observe(round.Took.Seconds())
	g.epoch.Set(float64(round.Epoch))
	g.conflicts.Add(float64(round.Conflicts))
	g.doubts.Add(float64(round.Unknown))
}
