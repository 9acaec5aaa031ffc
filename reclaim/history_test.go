// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	api "aipub.io/aipub/api/v1alpha1"
)

// A history is one workload through random events, with a loop that looks when it is
// told to. Its own time runs evenly; the wall clock is off by skew, which steps.
type history struct {
	t      *testing.T
	random *rand.Rand
	log    []string

	real time.Time
	skew time.Duration

	policies []api.ReclaimPolicy
	rules    Rules
	subject  Subject

	held      time.Duration // as it truly was
	heldFrom  time.Time     // real; zero while none is held
	lastWork  time.Time     // real
	seenWork  time.Time     // real, the last that the node saw
	watchFrom time.Time     // real
	blindFrom time.Time     // real; zero while the node reports
	unseen    bool          // the node cannot see the GPU

	away     bool      // no controller
	started  time.Time // wall
	lastLook time.Time // wall
	next     time.Time // wall
	upset    time.Time // real: when something last gave its user a new grace
	told     []promise
	pauses   int
	warned   int
}

// promise is a warning, in real time.
type promise struct{ at, expires time.Time }

func (h *history) now() time.Time { return h.real.Add(h.skew) }

func (h *history) say(format string, args ...any) {
	h.log = append(h.log, h.now().Format("02 15:04:05.000 ")+fmt.Sprintf(format, args...))
}

func (h *history) fail(format string, args ...any) {
	h.t.Helper()
	for _, l := range h.log {
		h.t.Log(l)
	}
	h.t.Fatalf(format, args...)
}

func choose[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// newPolicies makes one or two, so that a limit and an idle rule may be kept on
// different terms.
func (h *history) newPolicies() {
	h.policies = nil
	for n := range 1 + h.random.IntN(2) {
		h.policies = append(h.policies, h.newPolicy(fmt.Sprintf("p%d", n)))
	}
	h.rules = rulesOf(h.policies...)
	h.upset = h.real
}

func (h *history) newPolicy(name string) api.ReclaimPolicy {
	r := h.random
	p := policy(name,
		hours(choose[int32](r, 0, 1, 1, 2, 3, 99_999)), grace(choose[int32](r, 0, 1, 10, 10, 45)),
		choose(r, warns(), warns(10*time.Minute), warns(time.Hour, 10*time.Minute), warns(24*time.Hour, time.Hour, 10*time.Minute)))
	if r.IntN(2) == 0 {
		idle(choose[int32](r, 5, 30, 60, 90), api.IdleGPU)(&p.Spec)
	}
	for range r.IntN(3) {
		hushed(choose(r, "22:00", "13:00", "00:00"), choose(r, "06:00", "14:00", "00:30"), choose(r, "", "Asia/Seoul"),
			choose(r, nil, []api.Weekday{"Wed", "Fri"})...)(&p.Spec)
	}
	h.say("policy %s: %d h, idle %+v, grace %v, warn %v, quiet %v", name, p.Spec.MaxOccupancyHours, p.Spec.Idle, *p.Spec.GraceMinutes, p.Spec.WarnBefore, p.Spec.QuietHours)
	return p
}

// terms are those that a reason is kept on.
func (h *history) terms(reason string) Terms {
	if reason == api.ReasonIdle {
		return h.rules.IdleTerms
	}
	return h.rules.LimitTerms
}

// watch is what the node reports, to the minute.
func (h *history) watch() []Watch {
	minute := func(t time.Time) time.Time { return t.Add(h.skew).Truncate(time.Minute) }
	at := h.real
	if !h.blindFrom.IsZero() {
		at = h.blindFrom
	}
	w := Watch{Since: minute(h.watchFrom), At: minute(at), Cut: time.Minute, Active: map[api.IdleSignal]time.Time{}}
	if !h.seenWork.Before(h.watchFrom) {
		w.Active[api.IdleGPU] = minute(h.seenWork)
	}
	if h.unseen {
		w.Unknown = []api.IdleSignal{api.IdleGPU}
	}
	return []Watch{w}
}

// quiet says whether a policy pauses nothing now.
func (h *history) quiet(name string) bool {
	for _, p := range h.policies {
		if p.Name != name {
			continue
		}
		end, err := Quiet(p.Spec.QuietHours, h.now())
		if err != nil {
			h.fail("%v", err)
		}
		return end.After(h.now())
	}
	return false
}

func (h *history) trulyHeld() time.Duration {
	if h.heldFrom.IsZero() {
		return h.held
	}
	return h.held + h.real.Sub(h.heldFrom)
}

// look asks for a decision, does what it says, and checks it.
func (h *history) look() {
	if h.away {
		return
	}
	now := h.now()
	h.subject.Watches = h.watch()
	h.subject.HeldUntil = h.lastLook
	before := h.subject.Occupancy
	d := Decide(h.subject, h.rules, now, h.started)
	h.lastLook = now
	if len(h.subject.Pods) > 0 {
		h.subject.HeldUntil = now
	}
	h.keep(d, now)
	if d.Occupancy.Reason != before.Reason {
		h.upset = h.real
	}
	if d.Warn != nil {
		h.warned++
		h.say("warned: %s", d.Warn.Text)
		w := d.Occupancy.Warnings[len(d.Occupancy.Warnings)-1]
		h.told = append(h.told, promise{w.At.Add(-h.skew), w.ExpiresAt.Add(-h.skew)})
	}
	if d.Next.IsZero() {
		h.next = time.Time{}
	} else if h.next = d.Next; !d.Next.After(now) {
		h.fail("next %v is not after now %v", d.Next, now)
	}
	if d.Pause == nil {
		h.checkNotLate(d)
		return
	}
	h.say("paused: %s, expired at %v", d.Pause.Reason, d.Occupancy.ExpiresAt)
	h.checkPause(d)
	h.resume()
}

// keep persists the occupancy, and checks that asking again changes nothing.
func (h *history) keep(d Decision, now time.Time) {
	b, err := json.Marshal(d.Occupancy)
	if err != nil {
		h.fail("%v", err)
	}
	var kept api.Occupancy
	if err := json.Unmarshal(b, &kept); err != nil {
		h.fail("%v", err)
	}
	h.subject.Occupancy = kept
	again := Decide(h.subject, h.rules, now, h.started)
	if !equality.Semantic.DeepEqual(again.Occupancy, kept) || again.Warn != nil || again.Cleared != nil || again.Extended != 0 || again.Changed {
		h.fail("asked again it changes\n%s\nto %+v\n%+v", b, again.Occupancy, again)
	}
	if (again.Pause == nil) != (d.Pause == nil) || !again.Next.Equal(d.Next) {
		h.fail("asked again it says %+v instead of %+v", again, d)
	}
	if len(kept.Warnings) > maxWarnings || len(kept.Extensions) > maxExtensions || kept.HeldSeconds < 0 {
		h.fail("out of bounds: %s", b)
	}
}

func (h *history) checkPause(d Decision) {
	h.pauses++
	switch {
	case len(h.subject.Pods) == 0:
		h.fail("paused what holds nothing")
	case h.quiet(d.Pause.By):
		h.fail("paused in quiet hours")
	case d.Pause.Reason == api.ReasonOccupancyLimit:
		if limit := h.rules.Limit + time.Duration(h.subject.Extend)*time.Second; h.rules.Limit == 0 || h.trulyHeld() < limit {
			h.fail("held for %v, less than %v", h.trulyHeld(), limit)
		}
	case d.Pause.Reason == api.ReasonIdle:
		after := h.rules.Idle.After
		if after == 0 || h.real.Sub(h.lastWork) < after || h.real.Sub(h.watchFrom) < after || h.real.Sub(h.heldFrom) < after || h.unseen {
			h.fail("it was not idle, or not known to be")
		}
		if end := d.Occupancy.ExpiresAt.Add(-h.skew); !h.blindFrom.IsZero() && h.blindFrom.Before(end) {
			h.fail("nobody has watched since %v, before it was due at %v", h.blindFrom, end)
		}
	}
	for _, p := range h.told {
		if !p.at.Add(h.terms(d.Pause.Reason).Grace).After(h.real) && !p.expires.After(h.real) {
			return
		}
	}
	if h.terms(d.Pause.Reason).Grace > 0 || len(h.told) == 0 {
		h.fail("it was not warned for long enough before: %v", h.told)
	}
}

// checkNotLate fails where a limit was reached and nothing excuses that it is not
// paused.
func (h *history) checkNotLate(d Decision) {
	if h.heldFrom.IsZero() || h.quiet(h.rules.LimitTerms.Policy) || h.quiet(h.rules.IdleTerms.Policy) {
		return
	}
	excuse := later(h.upset, h.started.Add(-h.skew)).Add(h.rules.LimitTerms.Grace + h.rules.IdleTerms.Grace + 2*time.Second)
	if !h.real.After(excuse) {
		return
	}
	counted := Held(h.subject.Occupancy, h.now())
	if h.rules.Limit > 0 && counted > h.rules.Limit+time.Duration(h.subject.Extend)*time.Second {
		h.fail("held for %v, and not paused: %+v", counted, d)
	}
	if d.Deadline != nil && d.Deadline.Reason == api.ReasonOccupancyLimit {
		return // which comes sooner than the grace of the idle rule would end
	}
	if !h.real.After(excuse.Add(time.Minute + peek)) {
		return // its node tells once a minute
	}
	known := later(later(h.lastWork, h.watchFrom), h.heldFrom).Add(time.Minute)
	if h.rules.Idle.After > 0 && !h.unseen && h.blindFrom.IsZero() && h.subject.Extend == 0 && h.real.Sub(known) > h.rules.Idle.After+time.Minute+peek+2*time.Second {
		h.fail("idle since %v, and not paused: %+v", known, d)
	}
}

// resume is a pause and its resume a while later.
func (h *history) resume() {
	h.dropPods()
	h.subject.Paused = true
	d := Decide(h.subject, h.rules, h.now(), h.started)
	if !equality.Semantic.DeepEqual(d.Occupancy, api.Occupancy{}) || d.DropExtend != (h.subject.Extend != 0) {
		h.fail("a pause leaves %+v", d)
	}
	h.subject.Paused, h.subject.Occupancy, h.subject.Extend = false, api.Occupancy{}, 0
	h.held, h.told, h.next = 0, nil, time.Time{}
}

func (h *history) dropPods() {
	if !h.heldFrom.IsZero() {
		h.held += h.real.Sub(h.heldFrom)
	}
	h.subject.Pods, h.heldFrom = nil, time.Time{}
}

func (h *history) addPod() {
	h.real = up(h.now()).Add(-h.skew) // the API has whole seconds
	h.subject.Pods = []Holder{{UID: fmt.Sprint(h.random.Uint32()), Since: h.now()}}
	h.heldFrom, h.watchFrom, h.upset = h.real, h.real, h.real
}

// pass lets time pass; the loop looks when it said that it would, up to a moment late.
func (h *history) pass(d time.Duration) {
	for end := h.real.Add(d); h.real.Before(end); {
		look := h.next.Add(time.Duration(h.random.IntN(900)) * time.Millisecond).Add(-h.skew)
		if h.away || h.next.IsZero() || look.After(end) {
			h.real = end
			return
		}
		h.real = later(h.real, look)
		h.look()
	}
}

func (h *history) event() {
	r := h.random
	h.pass(time.Duration(1 + r.Int64N(choose(r, int64(2*time.Minute), int64(20*time.Minute), int64(3*time.Hour)))).Truncate(time.Millisecond))
	switch r.IntN(12) {
	case 0:
		h.newPolicies()
	case 1:
		h.say("pods gone")
		h.dropPods()
	case 2, 3:
		if len(h.subject.Pods) > 0 {
			h.look()
			h.dropPods()
		}
		h.addPod()
		h.say("a new pod")
	case 4, 5:
		if len(h.subject.Pods) > 0 {
			h.lastWork = h.real
			if h.blindFrom.IsZero() {
				h.seenWork = h.real
			}
			h.say("work")
		}
	case 6:
		h.say("the node's reports stop or return")
		if h.blindFrom.IsZero() {
			h.blindFrom = h.real
		} else {
			h.blindFrom, h.watchFrom = time.Time{}, h.real
		}
	case 7:
		h.unseen = r.IntN(3) == 0
		if !h.unseen {
			h.watchFrom = h.real
		}
	case 8:
		h.extend()
	case 9:
		h.leave()
	case 10:
		h.step()
	}
	h.look()
}

func (h *history) extend() {
	before := h.subject.Extend
	h.subject.Extend = choose(h.random, 0, before, before+1, before+60, before+3600, before+8*3600)
	if h.subject.Extend < before {
		h.upset = h.real
	}
	h.subject.ExtendedBy = "alice"
	h.say("extended by %d s in all", h.subject.Extend)
}

// leave takes the controller away, or brings another.
func (h *history) leave() {
	h.away = !h.away
	h.say("away: %v", h.away)
	if h.away {
		return
	}
	h.started, h.next = h.now(), time.Time{}
	if h.random.IntN(2) == 0 {
		h.lastLook = time.Time{}
	}
}

// step moves all clocks; the loop sees it at once, and the nodes begin to watch anew.
func (h *history) step() {
	if h.away {
		return
	}
	step := time.Duration(h.random.IntN(1200)-600) * time.Second
	h.skew += step
	h.subject.Occupancy = Shift(h.subject.Occupancy, step)
	h.started, h.lastLook, h.next = h.started.Add(step), h.lastLook.Add(step), time.Time{}
	h.watchFrom, h.upset = h.real, h.real
	h.say("clock stepped by %v", step)
}

func TestNoHistoryPausesEarlyLateOrWithoutWarning(t *testing.T) {
	runs, events := 600, 120
	if testing.Short() {
		runs = 200
	}
	pauses, warned := 0, 0
	for seed := range runs {
		h := &history{t: t, random: rand.New(rand.NewPCG(5, uint64(seed))), real: noon, subject: lab()}
		h.subject.Pods, h.watchFrom = nil, noon
		h.say("seed %d", seed)
		h.newPolicies()
		h.addPod()
		h.look()
		for range events {
			h.event()
		}
		pauses += h.pauses
		warned += h.warned
	}
	t.Logf("%d warnings, %d pauses", warned, pauses)
	if pauses < runs || warned < runs {
		t.Error("the histories are too tame to say anything")
	}
}
