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
// differs from before, in seconds. Time that is taken back is taken from the last ones.
func extend(o *api.Occupancy, total int64, by string, now time.Time) int64 {
	total = bounded(total)
	change := total - extended(*o)
	if change > 0 {
		o.Extensions = append(o.Extensions, api.Extension{At: *at(now), By: by, Seconds: change})
	}
	for over := -change; over > 0; {
		last := &o.Extensions[len(o.Extensions)-1]
		take := min(over, max(last.Seconds, 0))
		last.Seconds -= take
		over -= take
		if last.Seconds <= 0 {
			o.Extensions = o.Extensions[:len(o.Extensions)-1]
		}
	}
	for len(o.Extensions) > maxExtensions { // the oldest two become one
		o.Extensions[1].Seconds += o.Extensions[0].Seconds
		o.Extensions = o.Extensions[1:]
	}
	return change
}

// kept is until when extensions keep it from being idle: each for as long as it added.
func kept(o api.Occupancy) time.Time {
	var until time.Time
	for _, e := range o.Extensions {
		until = later(until, e.At.Add(seconds(e.Seconds)))
	}
	return until
}
