// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"aipub.io/aipub/sharer"
)

// serve offers handler at an address until ctx ends.
func (m *metrics) serve(ctx context.Context, address string, a *agent) error {
	server := &http.Server{Addr: address, Handler: m.handler(a), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve --metrics-address %s: %w", address, err)
	}
	return nil
}

// handler answers /metrics, /shares, /healthz (the process lives) and /readyz (the
// cluster has been heard).
func (m *metrics) handler(a *agent) http.Handler {
	m.registry.MustRegister(stateCollector{snapshot: a.state.Snapshot, gpus: a.gpus}, shareCollector{report: a.report}, idleCollector{a.activityNow, a.state.Snapshot})
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc(sharer.ReportPath, a.serveReport)
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if t := a.last(); t.reason == "" {
			http.Error(w, "the cluster has not been heard yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	return mux
}
