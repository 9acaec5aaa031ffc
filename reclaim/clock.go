// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// Holder is a pod that is on a node, and so holds the set.
type Holder struct {
	UID string
	// Since is when it came to its node.
	Since time.Time
}

// Held is how long sets have been held on a clock, at a time.
func Held(o api.Occupancy, now time.Time) time.Duration {
	held := seconds(o.HeldSeconds)
	if o.Since != nil && now.After(o.Since.Time) {
		held += now.Sub(o.Since.Time)
	}
	return held
}

// Clock is when a limit on occupancy is reached; the zero time while no set is held,
// or without a limit. What was held before and was added since counts.
func Clock(o api.Occupancy, limit time.Duration) time.Time {
	if o.Since == nil || limit <= 0 {
		return time.Time{}
	}
	return o.Since.Add(limit - seconds(o.HeldSeconds) + seconds(extended(o)))
}

// run lets the clock start, stop or go on, by the pods that there are. Of pods that
// follow each other without a break the clock does not see the change. Until is when
// the set was surely held last: where all of it went unseen, no more is counted.
func run(o *api.Occupancy, pods []Holder, until, now time.Time) {
	if len(pods) == 0 {
		if o.Since != nil {
			stop(o, earlier(until, now))
		}
		return
	}
	first := slices.MinFunc(pods, func(a, b Holder) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.UID, b.UID))
	})
	same := slices.ContainsFunc(pods, func(h Holder) bool { return h.UID == o.Pod })
	switch {
	case o.Since == nil:
		start(o, first, now)
	case same:
	case o.Pod == "" || !first.Since.After(until):
		o.Pod = first.UID
	default:
		stop(o, earlier(until, first.Since))
		start(o, first, now)
	}
}

func start(o *api.Occupancy, h Holder, now time.Time) {
	o.Since, o.Pod = at(earlier(h.Since, now)), h.UID
}

// stop keeps what was held, and what was said about a limit on it.
func stop(o *api.Occupancy, until time.Time) {
	if held := until.Sub(o.Since.Time); held > 0 {
		o.HeldSeconds = bounded(o.HeldSeconds + int64(held/time.Second))
	}
	kept := api.Occupancy{HeldSeconds: o.HeldSeconds, Extensions: o.Extensions, TakenBackSeconds: o.TakenBackSeconds}
	if o.Reason == api.ReasonOccupancyLimit {
		kept.Reason, kept.Policy = o.Reason, o.Policy
	}
	for _, w := range o.Warnings {
		if w.Reason == api.ReasonOccupancyLimit {
			kept.Warnings = append(kept.Warnings, w)
		}
	}
	*o = kept
}

// mostSeconds is more than all that a policy can allow, and far from any overflow.
const mostSeconds = 4 * maxHours * 3600

func bounded(n int64) int64 { return min(max(n, 0), mostSeconds) }

func seconds(n int64) time.Duration { return time.Duration(bounded(n)) * time.Second }

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// up is the first whole second that is not before a time: what is kept has no
// fractions, and nothing may be early for that.
func up(t time.Time) time.Time {
	if s := t.Truncate(time.Second); s.Before(t) {
		return s.Add(time.Second)
	}
	return t
}

func at(t time.Time) *metav1.Time {
	m := metav1.NewTime(up(t).UTC())
	return &m
}
