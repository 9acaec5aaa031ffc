// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"testing"
	"time"
)

func TestWarningsSayWhatToDo(t *testing.T) {
	notebook := lab()
	notebook.Kind = "Notebook"
	tests := []struct {
		name    string
		rules   Rules
		subject Subject
		after   time.Duration
		want    string
	}{
		{"a limit", rulesOf(policy("everyone", hours(24), extendable(24))), lab(), 23 * hour,
			"Workspace team/lab will be paused at 2026-11-19 12:00 UTC (in 1 h): it may hold its set for 24 h (policy everyone). " +
				"Extend: kubectl aipub workspace extend -n team lab --for 8h"},
		{"less than the usual is left", rulesOf(policy("everyone", hours(24), extendable(2))), lab(), 23 * hour,
			"Workspace team/lab will be paused at 2026-11-19 12:00 UTC (in 1 h): it may hold its set for 24 h (policy everyone). " +
				"Extend: kubectl aipub workspace extend -n team lab --for 2h"},
		{"no more to add", rulesOf(policy("everyone", hours(24), extendable(8))), extendedBy(lab(), 8*hour), 31 * hour,
			"Workspace team/lab will be paused at 2026-11-19 20:00 UTC (in 1 h): it may hold its set for 24 h and 8 h that were added (policy everyone). " +
				"Save your work; more time is for an administrator to give."},
		{"another kind", rulesOf(policy("everyone", hours(24), extendable(24))), extendedBy(notebook, 3*hour), 26 * hour,
			"Notebook team/lab will be paused at 2026-11-19 15:00 UTC (in 1 h): it may hold its set for 24 h and 3 h that were added (policy everyone). " +
				"Extend: kubectl annotate -n team notebook lab --overwrite aipub.io/extend=11h"},
		{"overdue", rulesOf(policy("everyone", hours(24))), lab(), 25 * hour,
			"Workspace team/lab will be paused at 2026-11-19 13:10 UTC (in 10 min): it may hold its set for 24 h (policy everyone), put off so that you are told before. " +
				"Save your work; more time is for an administrator to give."},
		{"quiet hours", rulesOf(policy("everyone", hours(24), hushed("11:00", "14:00", "", "Thu"))), lab(), 23 * hour,
			"Workspace team/lab will be paused at 2026-11-19 14:00 UTC (in 3 h): it may hold its set for 24 h (policy everyone), put off to the end of quiet hours. " +
				"Save your work; more time is for an administrator to give."},
		{"idle", rulesOf(policy("everyone", idle(90), extendable(1))), seenIdle(lab(), 85*minute), 85 * minute,
			"Workspace team/lab will be paused at 2026-11-18 13:30 UTC (in 5 min): nothing used it since 2026-11-18 12:00 UTC, and what nobody uses for 1 h 30 min is paused (policy everyone). " +
				"Use it, or extend: kubectl aipub workspace extend -n team lab --for 1h"},
		{"idle and without grace", rulesOf(policy("everyone", idle(90), grace(0), warns())), seenIdle(lab(), 90*minute), 90 * minute,
			"Workspace team/lab will be paused now: nothing used it since 2026-11-18 12:00 UTC, and what nobody uses for 1 h 30 min is paused (policy everyone). " +
				"Use it, or save your work."},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			now := noon.Add(x.after)
			d := Decide(x.subject, x.rules, now, time.Time{})
			if x.name == "idle" { // it was watched and warned of before; else there is grace
				x.subject.Watches = seenIdle(x.subject, 80*minute).Watches
				x.subject.Occupancy = Decide(x.subject, x.rules, noon.Add(80*minute-lead), time.Time{}).Occupancy
				x.subject.Watches, x.subject.Occupancy.Warnings[0].BeforeSeconds = seenIdle(x.subject, 85*minute).Watches, 3600
				d = Decide(x.subject, x.rules, now, time.Time{})
			}
			if d.Warn == nil || d.Warn.Text != x.want {
				t.Errorf("%+v\nwant %s", d.Warn, x.want)
			}
		})
	}
}

func extendedBy(s Subject, d time.Duration) Subject {
	s.Extend = int64(d / time.Second)
	return s
}

func seenIdle(s Subject, after time.Duration) Subject {
	s.Watches = []Watch{watched(noon, noon.Add(after), time.Time{})}
	return s
}

func TestAPauseSaysWhy(t *testing.T) {
	r := rulesOf(policy("everyone", hours(24), idle(90)))
	s := seenIdle(lab(), 100*minute)
	d := Decide(s, r, noon.Add(100*minute), time.Time{})
	want := "no use of GPU, CPU, Terminal or Kernel since 2026-11-18 12:00 UTC, and what nobody uses for 1 h 30 min is paused (policy everyone)"
	if got := PauseReason(*d.Deadline, r, d.Occupancy); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestLengths(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"99999 h": 99_999 * hour, "24 h": 24 * hour, "1 h 30 min": 90 * minute, "10 min": 10 * minute, "1 h": hour + 59*time.Second,
		"10 min 5 s": 10*minute + 5*time.Second, "45 s": 45 * time.Second, "0 s": 0,
	} {
		if got := length(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	if got := flag(90 * minute); got != "90m" {
		t.Error(got)
	}
}
