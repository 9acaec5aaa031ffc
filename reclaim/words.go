// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"fmt"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// clockTime is a moment to the minute. It names the day, because what it stands in is
// read on other days too.
func clockTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// length is a duration in words: 24 h, 1 h 30 min, 45 s. From an hour on it is to the
// minute; what is cut off is less than the last unit.
func length(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int64(d/time.Hour), int64(d%time.Hour/time.Minute), int64(d%time.Minute/time.Second)
	var parts []string
	for _, p := range []struct {
		n    int64
		unit string
	}{{h, "h"}, {m, "min"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.unit))
		}
	}
	if len(parts) == 0 || h == 0 && s > 0 {
		parts = append(parts, fmt.Sprintf("%d s", s))
	}
	return strings.Join(parts, " ")
}

// flag is a duration as the command line takes it: 8h, 90m.
func flag(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

func signalNoun(s api.IdleSignal) string {
	switch s {
	case api.IdleTerminal:
		return "the use of terminals"
	case api.IdleKernel:
		return "the use of notebook kernels"
	default:
		return "the use of its " + string(s)
	}
}

func lastUsed(s api.IdleSignal, t time.Time) string {
	used := string(s) + " used"
	switch s {
	case api.IdleTerminal:
		used = "a terminal was used"
	case api.IdleKernel:
		used = "a notebook kernel was used"
	default:
	}
	return used + " last at " + clockTime(t)
}

// signalList is "GPU, CPU, Terminal or Kernel".
func signalList(signals []api.IdleSignal) string {
	names := make([]string, len(signals))
	for i, s := range signals {
		names[i] = string(s)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
