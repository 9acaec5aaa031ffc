// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"testing"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"
)

var (
	unknownAction = recovery{}
	noAction      = recovery{known: true}
	resetAction   = recovery{known: true, action: gonvml.GPU_RECOVERY_ACTION_GPU_RESET}
)

// say writes events as "gi/ci reason" or "gi/ci ok".
func say(events []Event) []string {
	var out []string
	for _, e := range events {
		what := e.Health.Reason
		if e.Health.OK {
			what = "ok"
		}
		out = append(out, fmt.Sprintf("%d/%d %s", e.GIID, e.CIID, what))
	}
	return out
}

func TestXidPrecedence(t *testing.T) {
	rules := xidRules{ignore: map[uint64]bool{79: true, 500: true}, critical: map[uint64]bool{13: true, 500: true}}
	tests := map[string]struct {
		xid  uint64
		r    recovery
		rule xidRules
		want []string
	}{
		"a program's fault is no fault of the GPU":       {xid: 31, r: unknownAction},
		"even where the driver wants a reset by then":    {xid: 43, r: resetAction},
		"hardware, driver knows no recovery action":      {xid: 79, r: unknownAction, want: []string{"-1/-1 XidCritical"}},
		"hardware, driver wants a reset":                 {xid: 48, r: resetAction, want: []string{"-1/-1 XidCritical"}},
		"hardware, driver wants nothing":                 {xid: 63, r: noAction},
		"unheard of, driver knows no recovery action":    {xid: 999, r: unknownAction, want: []string{"-1/-1 XidCritical"}},
		"operator ignores a hardware error":              {xid: 79, r: resetAction, rule: rules},
		"operator fears an application error":            {xid: 13, r: noAction, rule: rules, want: []string{"-1/-1 XidCritical"}},
		"operator's ignore list wins over critical list": {xid: 500, r: resetAction, rule: rules},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(time.Minute, tc.rule)
			if diff := cmp.Diff(tc.want, say(tr.xid(wholeGPU("a"), tc.xid, tc.r))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// look is one probe of GPU "a" at a second, and the events that it must give.
type look struct {
	at   int
	p    probe
	want []string
}

func TestReturnToHealth(t *testing.T) {
	instance := scope{"a", 3, 0}
	critical := func(s scope, r recovery) func(*tracker) {
		return func(tr *tracker) { tr.xid(s, 48, r) }
	}
	tests := map[string]struct {
		begin func(*tracker)
		looks []look
	}{
		"after a reset, once stable": {
			begin: critical(wholeGPU("a"), resetAction),
			looks: []look{
				{at: 0, p: probe{recovery: resetAction}},
				{at: 10, p: probe{recovery: noAction}},
				{at: 39, p: probe{recovery: noAction}},
				{at: 40, p: probe{recovery: noAction}, want: []string{"-1/-1 ok"}},
				{at: 50, p: probe{recovery: noAction}},
			},
		},
		"a relapse starts the wait anew": {
			begin: critical(wholeGPU("a"), resetAction),
			looks: []look{
				{at: 0, p: probe{recovery: noAction}},
				{at: 20, p: probe{recovery: resetAction}},
				{at: 30, p: probe{recovery: noAction}},
				{at: 59, p: probe{recovery: noAction}},
				{at: 60, p: probe{recovery: noAction}, want: []string{"-1/-1 ok"}},
			},
		},
		"never by silence of a driver without recovery action": {
			begin: critical(wholeGPU("a"), unknownAction),
			looks: []look{{at: 0, p: probe{}}, {at: 9999, p: probe{}}},
		},
		"lost and found, even by such a driver": {
			looks: []look{
				{at: 0, p: probe{lost: true}, want: []string{"-1/-1 DeviceLost"}},
				{at: 10, p: probe{lost: true}},
				{at: 20, p: probe{}},
				{at: 50, p: probe{}, want: []string{"-1/-1 ok"}},
			},
		},
		"one late answer is no fault, two are": {
			looks: []look{
				{at: 0, p: probe{slow: true}},
				{at: 10, p: probe{recovery: noAction}},
				{at: 20, p: probe{slow: true}},
				{at: 30, p: probe{slow: true}, want: []string{"-1/-1 NotResponding"}},
				{at: 40, p: probe{recovery: noAction}},
				{at: 70, p: probe{recovery: noAction}, want: []string{"-1/-1 ok"}},
			},
		},
		"a needed recovery that no event told": {
			looks: []look{
				{at: 0, p: probe{recovery: resetAction}, want: []string{"-1/-1 GPUResetRequired"}},
				{at: 10, p: probe{recovery: resetAction}},
			},
		},
		"one instance alone": {
			begin: critical(instance, resetAction),
			looks: []look{
				{at: 0, p: probe{recovery: resetAction}},
				{at: 10, p: probe{recovery: noAction}},
				{at: 40, p: probe{recovery: noAction}, want: []string{"3/0 ok"}},
			},
		},
		"the GPU of a faulty instance is lost": {
			begin: critical(instance, resetAction),
			looks: []look{
				{at: 0, p: probe{lost: true}, want: []string{"-1/-1 DeviceLost"}},
				{at: 10, p: probe{recovery: noAction}},
				{at: 40, p: probe{recovery: noAction}, want: []string{"-1/-1 ok", "3/0 ok"}},
			},
		},
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(30*time.Second, xidRules{})
			if got := say(tr.probed(start, probe{gpu: "a", recovery: noAction})); !cmp.Equal(got, []string{"-1/-1 ok"}) {
				t.Errorf("the first probe tells %v", got)
			}
			tr.xid(scope{"other", -1, -1}, 79, unknownAction) // must not mix in
			if tc.begin != nil {
				tc.begin(tr)
			}
			for _, l := range tc.looks {
				l.p.gpu = "a"
				got := tr.probed(start.Add(time.Duration(l.at)*time.Second), l.p)
				if diff := cmp.Diff(l.want, say(got)); diff != "" {
					t.Errorf("at %d s (-want +got):\n%s", l.at, diff)
				}
			}
		})
	}
}

func TestFaultsOfInstancesThatAreGone(t *testing.T) {
	tr := newTracker(time.Minute, xidRules{})
	tr.xid(scope{"a", 3, 0}, 48, unknownAction)
	tr.xid(scope{"a", 5, 0}, 48, unknownAction)
	tr.xid(wholeGPU("a"), 48, unknownAction)
	got := say(tr.forget("a", func(gi int) bool { return gi == 5 }))
	if diff := cmp.Diff([]string{"3/0 ok"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestLateErrorsOfALostGPU(t *testing.T) {
	tr := newTracker(time.Minute, xidRules{})
	tr.probed(time.Unix(0, 0), probe{gpu: "a", lost: true})
	if got := tr.xid(wholeGPU("a"), 79, unknownAction); len(got) != 0 {
		t.Errorf("events: %v", say(got))
	}
}

func TestSameFaultIsToldOnce(t *testing.T) {
	tr := newTracker(time.Minute, xidRules{})
	if got := tr.xid(wholeGPU("a"), 48, resetAction); len(got) != 1 {
		t.Fatalf("first: %v", got)
	}
	if got := tr.xid(wholeGPU("a"), 48, resetAction); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
}
