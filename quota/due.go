// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"
	"time"
)

// dueText is "; the next is due back at 14:05 UTC (in 25 minutes)", in the zone of
// now; nothing for a time that is not known.
func dueText(due, now time.Time) string {
	if due.IsZero() {
		return ""
	}
	due = due.In(now.Location())
	clock := due.Format("15:04 MST")
	if y, m, d := due.Date(); y != now.Year() || m != now.Month() || d != now.Day() {
		clock = due.Format("15:04 MST on 2 January")
	}
	if due.After(now) {
		return fmt.Sprintf("; the next is due back at %s (in %s)", clock, span(due.Sub(now), true))
	}
	return fmt.Sprintf("; the next was due back at %s (%s ago)", clock, span(now.Sub(due), false))
}

// span is a duration in one unit: rounded up, or down.
func span(d time.Duration, up bool) string {
	in := func(unit time.Duration) int64 {
		if up {
			return int64((d + unit - 1) / unit)
		}
		return int64(d / unit)
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d <= 2*time.Hour:
		return plural(in(time.Minute), "minute")
	case d <= 48*time.Hour:
		return plural(in(time.Hour), "hour")
	}
	return plural(in(24*time.Hour), "day")
}

func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
