// SPDX-License-Identifier: Apache-2.0

package reclaim

import "time"

// end of the interval that a time lies in, or the time itself.
func (one interval) end(t time.Time) time.Time {
	y, m, d := t.In(one.zone).Date()
	last := t
	// An interval that covers t began on this day or the one before; a day more on
	// either side is for zones that skip a day.
	for back := -1; back <= 2; back++ {
		day := time.Date(y, m, d-back, 0, 0, 0, 0, time.UTC)
		if !one.days[day.Weekday()] {
			continue
		}
		begin, _ := instants(day, one.from, one.zone)
		_, end := instants(day, one.to, one.zone)
		if !t.Before(begin) && end.After(last) {
			last = end
		}
	}
	return last
}

// instants are the first and the last moment at which the clocks of a zone show a
// minute of a day. They differ when the clocks are put back; when they are put forward
// over it, both are that moment. The day is given as its midnight in UTC.
func instants(day time.Time, minute int, zone *time.Location) (first, last time.Time) {
	wall := day.Add(time.Duration(minute) * time.Minute)
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	from, to := t.ZoneBounds()
	if !shows(t, wall) {
		skip := nearer(t, from, to)
		return skip, skip
	}
	first, last = t, t
	if !from.IsZero() {
		if x := t.Add(offset(t) - offset(from.Add(-1))); x.Before(from) && shows(x, wall) {
			first = x
		}
	}
	if !to.IsZero() {
		if x := t.Add(offset(t) - offset(to)); !x.Before(to) && shows(x, wall) {
			last = x
		}
	}
	return first, last
}

// shows reports whether the clocks show a time of day, which is given in UTC.
func shows(t, wall time.Time) bool {
	return t.Add(offset(t)).Equal(wall)
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// nearer is the one of two changes of a zone's clocks that is nearer to a time; a
// change that is not known is the zero time.
func nearer(t, a, b time.Time) time.Time {
	switch {
	case a.IsZero():
		return b
	case b.IsZero() || t.Sub(a) <= b.Sub(t):
		return a
	}
	return b
}
