// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"time"
	_ "time/tzdata" // the same zones on every machine, and in an image that has none

	api "aipub.io/aipub/api/v1alpha1"
)

// quietMost is how long quiet hours are followed from a time on. What is quiet for
// longer has no end: all of it repeats each week.
const quietMost = 8 * 24 * time.Hour

// Quiet is the end of the quiet hours that a time lies in, the time itself where it
// lies in none. Hours that overlap or meet count as one. The answer is at most eight
// days later; if it still is quiet then, it always is. Errors: a time of day, a day or
// a time zone that does not exist.
//
// A time of day that the clocks skip is the moment of the skip. One that comes twice is
// the first as a begin and the second as an end.
func Quiet(hours []api.QuietHours, t time.Time) (time.Time, error) {
	q, err := parseQuiet(hours)
	if err != nil {
		return time.Time{}, fmt.Errorf("quietHours%w", err)
	}
	return q.end(t), nil
}

// AfterQuiet is a time, or the end of the policy's quiet hours that it lies in.
func (t Terms) AfterQuiet(at time.Time) time.Time { return t.quiet.end(at) }

// quiet is a union of intervals; nil is none.
type quiet []interval

// interval begins on some days of the week at a time of day.
type interval struct {
	from, to int // minutes of the day; to is above 1440 for the next day
	days     [7]bool
	zone     *time.Location
}

const dayMinutes = 24 * 60

var weekdays = map[api.Weekday]time.Weekday{
	"Mon": time.Monday, "Tue": time.Tuesday, "Wed": time.Wednesday, "Thu": time.Thursday,
	"Fri": time.Friday, "Sat": time.Saturday, "Sun": time.Sunday,
}

func parseQuiet(hours []api.QuietHours) (quiet, error) {
	var q quiet
	for i, h := range hours {
		one, err := parseInterval(h)
		if err != nil {
			return nil, fmt.Errorf("[%d].%w", i, err)
		}
		q = append(q, one)
	}
	return q, nil
}

func parseInterval(h api.QuietHours) (interval, error) {
	from, err := parseMinute("from", h.From)
	if err != nil {
		return interval{}, err
	}
	to, err := parseMinute("to", h.To)
	if err != nil {
		return interval{}, err
	}
	if to <= from {
		to += dayMinutes
	}
	one := interval{from: from, to: to}
	for i := range one.days {
		one.days[i] = len(h.Days) == 0
	}
	for _, d := range h.Days {
		day, ok := weekdays[d]
		if !ok {
			return interval{}, fmt.Errorf("days: %q is no day; give Mon, Tue, Wed, Thu, Fri, Sat or Sun", d)
		}
		one.days[day] = true
	}
	one.zone, err = time.LoadLocation(h.TimeZone)
	if err != nil || h.TimeZone == "Local" {
		return interval{}, fmt.Errorf("timeZone: %q is no time zone; give one such as Asia/Seoul or Europe/Berlin, or leave it out for UTC", h.TimeZone)
	}
	return one, nil
}

func parseMinute(field, text string) (int, error) {
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, fmt.Errorf("%s: %q is no time of day; give HH:MM from 00:00 to 23:59", field, text)
	}
	return t.Hour()*60 + t.Minute(), nil
}

// end follows the intervals from one end to the next.
func (q quiet) end(t time.Time) time.Time {
	most := t.Add(quietMost)
	for e := t; ; {
		next := e
		for _, one := range q {
			if x := one.end(e); x.After(next) {
				next = x
			}
		}
		switch {
		case !next.After(e):
			return e
		case !next.Before(most):
			return most
		}
		e = next
	}
}

// endless reports whether no time of a week is free of it.
func (q quiet) endless() bool {
	anyTime := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return q.end(anyTime).Equal(anyTime.Add(quietMost))
}
