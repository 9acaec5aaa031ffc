// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// life is one workload and what was decided about it.
type life struct {
	t       *testing.T
	rules   Rules
	subject Subject
	started time.Time
}

func newLife(t *testing.T, policies ...api.ReclaimPolicy) *life {
	return &life{t: t, rules: rulesOf(policies...), subject: lab()}
}

func (l *life) at(after time.Duration) Decision {
	now := noon.Add(after)
	d := Decide(l.subject, l.rules, now, l.started)
	l.subject.Occupancy = d.Occupancy
	if len(l.subject.Pods) > 0 {
		l.subject.HeldUntil = now
	}
	return d
}

// quietly goes on until a time, and fails if anything is said or paused before.
func (l *life) quietly(from, to time.Duration) {
	l.t.Helper()
	for d := l.at(from); ; d = l.at(d.Next.Sub(noon)) {
		if d.Warn != nil || d.Pause != nil {
			l.t.Fatalf("before %v: warn %+v, pause %+v", to, d.Warn, d.Pause)
		}
		if d.Next.IsZero() || !d.Next.Before(noon.Add(to)) {
			return
		}
	}
}

func (l *life) warned(after, expires time.Duration) Decision {
	l.t.Helper()
	d := l.at(after)
	if d.Warn == nil || d.Pause != nil || !d.Warn.At.Equal(noon.Add(expires)) {
		l.t.Fatalf("at %v: want a warning of %v, have %+v, pause %+v", after, noon.Add(expires), d.Warn, d.Pause)
	}
	return d
}

func (l *life) paused(after time.Duration, reason, policy string) {
	l.t.Helper()
	if d := l.at(after - time.Millisecond); d.Pause != nil {
		l.t.Fatalf("paused before %v", after)
	}
	d := l.at(after)
	if d.Pause == nil || d.Pause.Reason != reason || d.Pause.By != policy {
		l.t.Fatalf("at %v: want a pause for %s by %s, have %+v; %+v", after, reason, policy, d.Pause, d.Deadline)
	}
}

const (
	minute = time.Minute
	hour   = time.Hour
	limit  = api.ReasonOccupancyLimit
)

func TestALimitIsWarnedOfAndKeptToTheSecond(t *testing.T) {
	l := newLife(t, policy("everyone", hours(48)))
	l.quietly(0, 24*hour-lead)
	l.warned(24*hour-lead, 48*hour)
	l.quietly(24*hour, 47*hour-lead)
	l.warned(47*hour-lead, 48*hour)
	l.warned(48*hour-10*minute-lead, 48*hour)
	l.paused(48*hour, limit, "everyone")
	if o := l.subject.Occupancy; o.Policy != "everyone" || o.Reason != limit || len(o.Warnings) != 3 {
		t.Errorf("kept %+v", o)
	}
}

func TestLimitsFromNoneToTheLargest(t *testing.T) {
	for _, h := range []int32{0, 1, 24, 99_999} {
		l := newLife(t, policy("p", hours(h), grace(0), warns()))
		d := l.at(0)
		if h == 0 {
			if d.Deadline != nil || !d.Next.IsZero() || d.Occupancy.Reason != api.ReasonNoLimit {
				t.Errorf("no limit, but %+v", d)
			}
			if d := l.at(200_000 * hour); d.Pause != nil {
				t.Error("no limit, but paused")
			}
			continue
		}
		l.paused(time.Duration(h)*hour, limit, "p")
		if d := l.at(time.Duration(h) * hour); d.Warn != nil || len(d.Occupancy.Warnings) != 1 {
			t.Errorf("without grace the pause is its own warning: %+v", d.Occupancy.Warnings)
		}
	}
}

func TestTheLargestLimitAndExtensionsDoNotOverflow(t *testing.T) {
	l := newLife(t, policy("p", hours(99_999), extendable(99_999)))
	l.subject.Extend = 99_999 * 3600
	d := l.at(hour)
	if want := noon.Add(2 * 99_999 * hour); !d.Deadline.At.Equal(want) {
		t.Errorf("deadline %v, want %v", d.Deadline.At, want)
	}
	for _, huge := range []int64{1 << 62, -1 << 62} {
		l.subject.Extend, l.subject.Occupancy.HeldSeconds = huge, huge
		if d := l.at(2 * hour); d.Pause != nil && huge > 0 && d.Occupancy.HeldSeconds < 0 {
			t.Errorf("%+v", d)
		}
	}
}

func TestALimitThatIsLoweredIsAnnouncedAnew(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.warned(23*hour, 24*hour)
	l.rules = rulesOf(policy("p", hours(9000)))
	if d := l.at(23*hour + minute); d.Pause != nil || d.Warn != nil {
		t.Fatalf("raised, but %+v", d)
	}
	l.rules = rulesOf(policy("p", hours(2)))
	d := l.warned(100*hour, 100*hour+10*minute)
	if d.Deadline.PutOff != api.ReasonGrace {
		t.Errorf("put off for %q", d.Deadline.PutOff)
	}
	l.paused(100*hour+10*minute, limit, "p")
}

func TestWhatFellDueWhileNoControllerWasThereIsAnnouncedAnew(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.warned(23*hour, 24*hour)
	l.started = noon.Add(30 * hour)
	l.warned(30*hour, 30*hour+10*minute)
	l.paused(30*hour+10*minute, limit, "p")
}

func TestANewControllerGoesOnWithWhatIsNotDueYet(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.warned(23*hour, 24*hour)
	l.warned(24*hour-10*minute-lead, 24*hour)
	l.started = noon.Add(24*hour - minute)
	l.quietly(24*hour-minute, 24*hour)
	l.paused(24*hour, limit, "p")
}

func TestDeletingAPodRenewsNothing(t *testing.T) {
	l := newLife(t, policy("p", hours(24), warns(hour)))
	l.warned(23*hour, 24*hour)
	l.subject.Pods = nil
	if d := l.at(23*hour + 30*minute); d.Occupancy.Since != nil || d.Occupancy.ExpiresAt != nil || d.Occupancy.HeldSeconds != 23*3600 {
		t.Fatalf("without a pod: %+v", d.Occupancy)
	}
	l.subject.Pods = []Holder{{UID: "b", Since: noon.Add(40 * hour)}}
	l.warned(40*hour, 41*hour)
	l.at(41*hour - 1)
	l.subject.Pods = nil
	l.at(41*hour - 1)
	// A second is left when it comes back, and it was told: no grace begins.
	l.subject.Pods = []Holder{{UID: "c", Since: noon.Add(50 * hour)}}
	l.at(50 * hour)
	l.paused(50*hour+time.Second, limit, "p")
}

func TestRestartsDoNotRenewTheGrace(t *testing.T) {
	l := newLife(t, policy("p", hours(1)))
	for n := range 100 {
		from := time.Duration(n) * 9 * minute
		l.subject.Pods = []Holder{{UID: string(rune('a' + n)), Since: noon.Add(from)}}
		if d := l.at(from); d.Pause != nil {
			if held := Held(d.Occupancy, noon.Add(from)); held < hour || held > hour+15*minute {
				t.Errorf("held for %v", held)
			}
			return
		}
		l.at(from + 8*minute)
		l.subject.Pods = nil
		l.at(from + 8*minute)
	}
	t.Error("it was never paused")
}

func TestPodsThatFollowEachOtherHoldTheSetWithoutABreak(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.at(0)
	l.subject.Pods = append(l.subject.Pods, Holder{UID: "b", Since: noon.Add(hour)})
	l.at(hour)
	l.subject.Pods = l.subject.Pods[1:]
	if o := l.at(2 * hour).Occupancy; !o.Since.Time.Equal(noon) || o.Pod != "b" || o.HeldSeconds != 0 {
		t.Errorf("%+v", o)
	}
}

func TestNothingUnseenCountsAsHeld(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.at(hour)
	// Away from 1 h to 20 h; meanwhile the pod was replaced at 19 h.
	l.subject.Pods = []Holder{{UID: "b", Since: noon.Add(19 * hour)}}
	o := l.at(20 * hour).Occupancy
	if held := Held(o, noon.Add(20*hour)); held != 2*hour {
		t.Errorf("held for %v, and 2 h are known", held)
	}
}

func TestAPauseIsPutOffToTheEndOfQuietHours(t *testing.T) {
	l := newLife(t, policy("p", hours(1), hushed("12:30", "15:00", "")))
	d := l.warned(0, 3*hour)
	if d.Deadline.PutOff != api.ReasonQuietHours || !d.Deadline.Due.Equal(noon.Add(hour)) {
		t.Errorf("%+v", d.Deadline)
	}
	l.warned(2*hour, 3*hour)
	l.warned(3*hour-10*minute, 3*hour)
	l.paused(3*hour, limit, "p")
}

func TestALoopThatComesLateDoesNotPauseInQuietHours(t *testing.T) {
	l := newLife(t, policy("p", hours(1), hushed("13:01", "15:00", "")))
	l.warned(0, hour)
	l.warned(50*minute, hour)
	if d := l.at(hour + 2*minute); d.Pause != nil || !d.Deadline.At.Equal(noon.Add(3*hour)) {
		t.Errorf("%+v", d)
	}
	l.paused(3*hour, limit, "p")
}

func TestAnExtensionMovesTheDeadline(t *testing.T) {
	l := newLife(t, policy("p", hours(2), extendable(8)))
	l.warned(hour, 2*hour)
	l.subject.Extend, l.subject.ExtendedBy = 4*3600, "alice"
	d := l.at(hour + 30*minute)
	if d.Warn != nil || !d.Deadline.At.Equal(noon.Add(6*hour)) {
		t.Errorf("%+v %+v", d.Warn, d.Deadline)
	}
	if d.Extended != 4*hour || len(d.Occupancy.Extensions) != 1 || d.Occupancy.Extensions[0].By != "alice" {
		t.Errorf("%v %+v", d.Extended, d.Occupancy.Extensions)
	}
	l.subject.Extend = 1 * 3600
	if d := l.warned(hour+31*minute, 3*hour); d.Extended != -3*hour {
		t.Errorf("took back %v", d.Extended)
	}
	l.warned(3*hour-10*minute, 3*hour)
	l.paused(3*hour, limit, "p")
}

func TestSmallExtensionsDoNotRenewTheGrace(t *testing.T) {
	l := newLife(t, policy("p", hours(1)))
	l.at(0)
	for n := range 200 {
		after := hour - 2*minute + time.Duration(n)*9*time.Second
		l.subject.Extend = int64(n)
		if d := l.at(after); d.Pause != nil {
			if after > hour+3*minute {
				t.Errorf("only at %v", after)
			}
			return
		}
	}
	t.Error("it was never paused")
}

func TestWhatIsPausingOrPausedIsLeftAlone(t *testing.T) {
	l := newLife(t, policy("p", hours(1)))
	l.warned(0, hour)
	l.subject.Pausing = true
	if d := l.at(2 * hour); d.Pause != nil || d.Warn != nil || !d.Next.IsZero() {
		t.Errorf("pausing: %+v", d)
	}
	l.subject.Pausing = false
	if d := l.at(2 * hour); d.Pause == nil {
		t.Error("the pause was called off; it is still due")
	}
	l.subject.Paused, l.subject.Extend = true, 60
	if d := l.at(3 * hour); !d.DropExtend || d.Occupancy.HeldSeconds != 0 || d.Occupancy.Since != nil || d.Occupancy.Warnings != nil {
		t.Errorf("paused: %+v", d)
	}
}

func TestAPolicyThatGoesTakesItsDeadlineAlong(t *testing.T) {
	l := newLife(t, policy("p", hours(24)))
	l.warned(23*hour, 24*hour)
	l.rules = rulesOf()
	d := l.at(23*hour + minute)
	if d.Cleared == nil || !strings.Contains(d.Cleared.Text, "will not be paused at 2026-11-19 12:00 UTC: no ReclaimPolicy limits it") {
		t.Errorf("%+v", d.Cleared)
	}
	if d.Occupancy.ExpiresAt != nil || d.Occupancy.Warnings != nil || d.Occupancy.Reason != api.ReasonNoLimit {
		t.Errorf("%+v", d.Occupancy)
	}
	l.rules = rulesOf(policy("p", hours(24)))
	l.warned(30*hour, 30*hour+10*minute)
}
