// SPDX-License-Identifier: Apache-2.0

package activity

import "time"

// meter turns a growing total into percent of the time between two readings.
type meter struct {
	last Usage
	at   time.Duration
	read bool
}

// percent since the last reading; 0 at the first one. A total that begins anew
// counts from zero.
func (m *meter) percent(u Usage, now time.Duration) float64 {
	before, first := *m, !m.read
	*m = meter{last: u, at: now, read: true}
	if first || now <= before.at {
		return 0
	}
	from := before.last.Total
	if u.Of != before.last.Of || u.Total < from {
		from = 0
	}
	return 100 * float64(u.Total-from) / float64(now-before.at)
}

// moved reports whether a terminal had input or output since before, or is new:
// a shell that starts writes its prompt.
func (t Terminals) moved(before Terminals) bool {
	for name, stamp := range t {
		if was, ok := before[name]; !ok || was != stamp {
			return true
		}
	}
	return false
}
