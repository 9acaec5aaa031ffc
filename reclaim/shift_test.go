// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "aipub.io/aipub/api/v1alpha1"
)

// full is a clock with all its times.
func full(t *testing.T) api.Occupancy {
	t.Helper()
	l := newLife(t, policy("p", hours(2), idle(600, api.IdleGPU)))
	l.subject.Extend = 60
	l.sees(hour, hour)
	l.at(hour)
	o := l.subject.Occupancy
	for _, v := range []any{o.Since, o.ExpiresAt, o.ActiveAt} {
		if reflect.ValueOf(v).IsNil() {
			t.Fatalf("no time in %+v", o)
		}
	}
	return o
}

func TestAStepOfTheClockChangesNoDuration(t *testing.T) {
	o := full(t)
	before, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []time.Duration{10 * minute, -10 * minute, 1500 * time.Millisecond, -1500 * time.Millisecond, 0} {
		s := Shift(o, step)
		whole := Clock(s, 2*hour).Sub(Clock(o, 2*hour))
		if whole < step || whole >= step+time.Second {
			t.Errorf("by %v the deadline moves by %v", step, whole)
		}
		if back := Shift(s, -whole); !equality.Semantic.DeepEqual(back, o) {
			t.Errorf("there and back by %v: %+v, want %+v", whole, back, o)
		}
		if s.ExpiresAt.Sub(o.ExpiresAt.Time) != whole || s.Warnings[0].At.Sub(o.Warnings[0].At.Time) != whole || s.Extensions[0].At.Sub(o.Extensions[0].At.Time) != whole {
			t.Errorf("not all of it moves by %v: %+v", whole, s)
		}
	}
	if after, err := json.Marshal(o); err != nil || string(after) != string(before) {
		t.Error("the original moved along")
	}
}

func TestSavingIsTriedAgainLaterAndLater(t *testing.T) {
	for attempts, want := range map[int]time.Duration{-1: 0, 0: 0, 1: 1, 2: 2, 3: 4, 4: 8, 5: 16, 6: 30, 7: 30, 1 << 40: 30} {
		if got := Backoff(attempts); got != want*time.Minute {
			t.Errorf("after %d attempts %v", attempts, got)
		}
	}
}

func TestExtensionsAreKeptWithinBounds(t *testing.T) {
	o := api.Occupancy{}
	for n := int64(1); n <= 200; n++ {
		if change := extend(&o, n*60, "alice", noon.Add(time.Duration(n)*minute)); change != 60 {
			t.Fatalf("the %dth adds %d", n, change)
		}
	}
	if len(o.Extensions) != maxExtensions || extended(o) != 12_000 {
		t.Errorf("%d extensions of %d s", len(o.Extensions), extended(o))
	}
	if change := extend(&o, 30, "alice", noon); change != -11_970 || extended(o) != 30 || len(o.Extensions) != 1 {
		t.Errorf("taking back leaves %+v", o.Extensions)
	}
	if extend(&o, 0, "", noon); len(o.Extensions) != 0 {
		t.Errorf("nothing leaves %+v", o.Extensions)
	}
}

func TestTheAnnotationWithTheTimeAdded(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "0h": 0, "8h": 28_800, "1h30m": 5_400, "99999h": 359_996_400} {
		if got, err := ParseExtend(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"8", "-1h", "100000h", "soon", " 8h"} {
		if got, err := ParseExtend(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

func TestMonths(t *testing.T) {
	date := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	months := Sum(nil, Account{
		Pauses:    []time.Time{date(10, 31, 23), date(11, 1, 0), date(11, 30, 23).Add(time.Hour - 1)},
		Reclaimed: []Span{{date(10, 31, 23), date(12, 1, 1)}, {date(11, 5, 0), date(11, 4, 0)}},
		Ghost:     []Span{{date(11, 1, 0).In(time.FixedZone("", 9*3600)), date(11, 1, 2)}},
	})
	want := []api.ReclaimMonth{
		{Month: "2026-12", ReclaimedSeconds: 3600},
		{Month: "2026-11", Pauses: 2, ReclaimedSeconds: 30 * 86_400, GhostSeconds: 7200},
		{Month: "2026-10", Pauses: 1, ReclaimedSeconds: 3600},
	}
	if !reflect.DeepEqual(months, want) {
		t.Errorf("%+v\nwant %+v", months, want)
	}
	// Cut anywhere, the parts sum to the whole, and only the last 13 months are kept.
	whole := Sum(nil, Account{Ghost: []Span{{date(1, 1, 0).AddDate(-1, 0, 0), date(12, 1, 1)}}})
	if len(whole) != maxMonths || whole[0].Month != "2026-12" {
		t.Errorf("%+v", whole)
	}
	var parts []api.ReclaimMonth
	for at := date(1, 1, 0).AddDate(-1, 0, 0); at.Before(date(12, 1, 1)); {
		next := earlier(at.Add(7*time.Hour+1234*time.Millisecond), date(12, 1, 1))
		parts = Sum(parts, Account{Ghost: []Span{{at, next}}})
		at = next
	}
	if !reflect.DeepEqual(parts, whole) {
		t.Errorf("%+v\nwant %+v", parts, whole)
	}
}
