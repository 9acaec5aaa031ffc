// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// recorderTo makes a recorder for a server.
func recorderTo(t *testing.T, handler http.HandlerFunc) *Recorder {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := NewRecorder(ctx, &rest.Config{Host: server.URL}, "gpu-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); r.Close() })
	return r
}

func TestEventsAreWrittenOnTheNode(t *testing.T) {
	got := make(chan string, 10)
	r := recorderTo(t, func(w http.ResponseWriter, req *http.Request) {
		var e corev1.Event
		if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
			t.Errorf("decode: %v", err)
		}
		o := e.InvolvedObject
		got <- fmt.Sprintf("%s %s: %s %s %s: %s %s by %s", req.Method, req.URL.Path, o.Kind, o.Name, o.UID, e.Type, e.Reason, e.Source.Component)
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(&e); err != nil {
			t.Errorf("encode: %v", err)
		}
	})
	r.Announce("u-1", corev1.EventTypeWarning, "DeviceLost", "GPU 1 has fallen off the bus")
	r.Announce("", corev1.EventTypeNormal, "Applied", "all is well") // before the cluster was heard
	for _, want := range []string{
		"POST /api/v1/namespaces/default/events: Node gpu-1 u-1: Warning DeviceLost by aipub-node",
		"POST /api/v1/namespaces/default/events: Node gpu-1 gpu-1: Normal Applied by aipub-node",
	} {
		select {
		case e := <-got:
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event; want %s", want)
		}
	}
}

func TestAnnouncingNeverWaits(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	r := recorderTo(t, func(http.ResponseWriter, *http.Request) { <-release })
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 5000 { // more than any queue holds
			r.Announce("u-1", corev1.EventTypeWarning, "Hardware", fmt.Sprint(i))
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("an API server that does not answer holds the agent up")
	}
}
