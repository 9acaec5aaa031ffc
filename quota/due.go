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
		return fmt.Sprintf("; the next is due back at %s (in %s)", clock, span(due.Sub(now)))
	}
	return fmt.Sprintf("; the next was due back at %s (%s ago)", clock, span(now.Sub(due)))
}

// span is a duration in one unit, rounded up.
func span(d time.Duration) string {
	up := func(unit time.Duration) int64 { return int64((d + unit - 1) / unit) }
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d <= 2*time.Hour:
		return plural(up(time.Minute), "minute")
	case d <= 48*time.Hour:
		return plural(up(time.Hour), "hour")
	}
	return plural(up(24*time.Hour), "day")
}

func plural(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
