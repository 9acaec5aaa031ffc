// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { m := metav1.NewTime(noon.Add(d)); return &m }

func TestAPolicyCountsWhatItDidOnce(t *testing.T) {
	p := &api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: "everyone", Generation: 3}, Spec: api.ReclaimPolicySpec{Scope: api.ReclaimScope{Everyone: true}, MaxOccupancyHours: 24}}
	all := []Bound{
		{Occupancy: &api.Occupancy{Policy: "everyone", Since: at(-10 * time.Hour), ExpiresAt: at(14 * time.Hour), Signal: api.SignalIdle, ActiveAt: at(-2 * time.Hour)}},
		{Occupancy: &api.Occupancy{Policy: "everyone", Since: at(-time.Hour), ExpiresAt: at(30 * time.Hour), Signal: api.SignalActive}},
		{Occupancy: &api.Occupancy{Policy: "other", Since: at(-time.Hour), Signal: api.SignalIdle}},
		{Pause: &api.Pause{At: *at(5 * time.Minute), By: "everyone", FreedAt: at(6 * time.Minute)}},
		{Pause: &api.Pause{At: *at(5 * time.Minute), Reason: api.ReasonRequested, FreedAt: at(6 * time.Minute)}},
	}
	p.Status = Count(p, all, noon)
	if st := p.Status; st.Bound != 2 || st.DueSoon != 1 || !st.NextAt.Equal(at(14*time.Hour)) || st.ObservedGeneration != 3 || len(st.Months) != 0 {
		t.Fatalf("at first: %+v", st)
	}
	for _, minutes := range []time.Duration{10, 10, 20} { // the second time nothing has passed
		p.Status = Count(p, all, noon.Add(minutes*time.Minute))
	}
	want := api.ReclaimMonth{Month: "2026-11", Pauses: 1, ReclaimedSeconds: 14 * 60, GhostSeconds: 20 * 60}
	if len(p.Status.Months) != 1 || p.Status.Months[0] != want {
		t.Errorf("counted %+v, want %+v", p.Status.Months, want)
	}
	p.Spec.QuietHours = []api.QuietHours{{From: "22:00", To: "06:00", TimeZone: "Nowhere/Else"}}
	if c := Count(p, nil, noon).Conditions[0]; c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "Nowhere/Else") {
		t.Errorf("a policy that cannot be kept says %+v", c)
	}
}

func TestANoticeIsTriedAgainAndItsLossIsTold(t *testing.T) {
	delivery.Duration = time.Millisecond
	got := make(chan Notice, 1)
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var n Notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		got <- n
	}))
	defer server.Close()
	lost := make(chan error, 1)
	n := NewNotifier(func(_ Notice, err error) { lost <- err })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = n.Start(ctx) }()
	defer func() { cancel(); <-ended }()
	n.Send(server.URL, Notice{Reason: api.ReasonReclaimWarning, Name: "lab", ExpiresAt: &noon})
	if sent := <-got; sent.Name != "lab" || sent.ExpiresAt == nil || !sent.ExpiresAt.Equal(noon) {
		t.Errorf("it got %+v", sent)
	}
	elsewhere := httptest.NewServer(http.RedirectHandler(server.URL, http.StatusTemporaryRedirect))
	defer elsewhere.Close()
	n.Send(elsewhere.URL, Notice{Name: "sent on"})
	if sent := <-got; sent.Name != "sent on" {
		t.Errorf("it got %+v", sent)
	}
	asks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/", http.StatusMovedPermanently)
		}
	}))
	defer asks.Close()
	n.Send(asks.URL, Notice{})
	if err := <-lost; err == nil || !strings.Contains(err.Error(), "301") {
		t.Errorf("a notice that nobody got is lost with %v", err)
	}
	n.Send("http://127.0.0.1:1/nobody", Notice{})
	if err := <-lost; err == nil {
		t.Error("a loss without an error")
	}
}

func TestAURLThatHangsHoldsUpNoOther(t *testing.T) {
	asked, release := make(chan struct{}, 100), make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-release }))
	defer hangs.Close()
	defer close(release)
	got := make(chan struct{}, 1)
	answers := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got <- struct{}{} }))
	defer answers.Close()
	n := NewNotifier(nil)
	go func() { _ = n.Start(t.Context()) }()
	for range 100 {
		n.Send(hangs.URL, Notice{})
	}
	for range posters {
		<-asked
	}
	n.Send(answers.URL, Notice{})
	select {
	case <-got:
	case <-time.After(postingTimeout / 2):
		t.Error("a notice waits for a URL that is not its own")
	}
}

func TestWhatANotebookServerSaysOfItsWork(t *testing.T) {
	hour := noon.Add(-time.Hour).Format(time.RFC3339Nano)
	for name, c := range map[string]struct {
		kernels, terminals string
		want               time.Time
		fails              bool
	}{
		"busy":                 {`[{"execution_state":"busy","last_activity":"` + hour + `"}]`, `[]`, noon, false},
		"idle since an hour":   {`[{"execution_state":"idle","last_activity":"` + hour + `","connections":3}]`, `[]`, noon.Add(-time.Hour), false},
		"a terminal was used":  {`[]`, `[{"name":"1","last_activity":"` + hour + `"}]`, noon.Add(-time.Hour), false},
		"nothing":              {`[]`, `[]`, time.Time{}, false},
		"no terminals at all":  {`[]`, "", time.Time{}, false},
		"no notebook server":   {"", "", time.Time{}, true},
		"something else, HTML": {`<html>`, `[]`, time.Time{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer := map[string]string{"/base/api/kernels": c.kernels, "/base/api/terminals": c.terminals}[r.URL.Path]
				if answer == "" {
					http.NotFound(w, r)
					return
				}
				if r.Header.Get("Authorization") != "token secret" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				_, _ = fmt.Fprint(w, answer)
			}))
			defer server.Close()
			j := NewJupyter(func() time.Time { return noon })
			got, err := j.activity(t.Context(), server.URL+"/base/", "secret", noon)
			if (err != nil) != c.fails || !got.Equal(c.want) {
				t.Errorf("active at %s, %v; want %s", got, err, c.want)
			}
			if _, err := j.activity(t.Context(), server.URL+"/base/", "wrong", noon); err == nil {
				t.Error("an answer without the token")
			}
		})
	}
	j := NewJupyter(func() time.Time { return noon })
	if k := j.Of(t.Context(), "http://127.0.0.1:1/", ""); !errors.Is(k.Err, errNotAsked) {
		t.Errorf("before it was asked: %+v", k)
	}
}
