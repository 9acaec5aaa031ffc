// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// maxExtensions is how many the API keeps.
const maxExtensions = 64

// ParseExtend reads the annotation aipub.io/extend: how much time was added in all, in
// seconds. Absent is 0. It says what is allowed where it can not be read.
func ParseExtend(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxHours*time.Hour {
		return 0, fmt.Errorf("%s: %q is no time to add; give a duration from 0h to %dh, such as 8h", api.ExtendAnnotation, text, maxHours)
	}
	return int64(d / time.Second), nil
}

// extended is how much time was added in all, in seconds.
func extended(o api.Occupancy) int64 {
	sum := int64(0)
	for _, e := range o.Extensions {
		sum = bounded(sum + bounded(e.Seconds))
	}
	return sum
}

// extend records that the time added is a total now. It returns by how much that
// differs from before, in seconds. Time that is taken back is taken from the last ones;
// for how long they have kept it from being idle already is not forgotten, so that to
// take them back and add them again gains nothing.
func extend(o *api.Occupancy, total int64, by string, now time.Time) int64 {
	total = bounded(total)
	change := total - extended(*o)
	if change > 0 {
		used := min(o.TakenBackSeconds, change)
		o.TakenBackSeconds -= used
		o.Extensions = append(o.Extensions, api.Extension{At: *at(now), By: by, Seconds: change, UsedSeconds: used})
	}
	for over := -change; over > 0; {
		last := &o.Extensions[len(o.Extensions)-1]
		take := min(over, max(last.Seconds, 0))
		was := spent(*last, now)
		last.Seconds -= take
		last.UsedSeconds = min(last.UsedSeconds, max(last.Seconds, 0))
		o.TakenBackSeconds = bounded(o.TakenBackSeconds + max(was-max(last.Seconds, 0), 0))
		over -= take
		if last.Seconds <= 0 {
			o.Extensions = o.Extensions[:len(o.Extensions)-1]
		}
	}
	for len(o.Extensions) > maxExtensions {
		o.Extensions[1] = merged(o.Extensions[0], o.Extensions[1])
		o.Extensions = o.Extensions[1:]
	}
	return change
}

// spent is for how long an extension has kept it from being idle, in seconds, with what
// others had used of it.
func spent(e api.Extension, now time.Time) int64 {
	left := max(int64(keeps(e).Sub(up(now))/time.Second), 0)
	return bounded(e.Seconds - min(left, e.Seconds-e.UsedSeconds))
}

// merged is one extension in place of two, which keeps for no longer than they did.
func merged(a, b api.Extension) api.Extension {
	until := later(keeps(a), keeps(b))
	b.Seconds = bounded(b.Seconds + a.Seconds)
	b.UsedSeconds = min(bounded(b.Seconds-int64(until.Sub(b.At.Time)/time.Second)), b.Seconds)
	return b
}

// keeps is until when an extension keeps it from being idle: for as long as it added.
func keeps(e api.Extension) time.Time {
	return e.At.Add(seconds(e.Seconds - e.UsedSeconds))
}

// kept is until when extensions keep it from being idle.
func kept(o api.Occupancy) time.Time {
	var until time.Time
	for _, e := range o.Extensions {
		until = later(until, keeps(e))
	}
	return until
}
