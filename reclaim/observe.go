// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"slices"
	"strings"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Fresh is how old the last look at a container may be, and how far the clocks of a
// node and the controller may differ, before it counts as not watched.
const Fresh = 3 * time.Minute

// Watch is what somebody saw who looked at a container, or at its notebook server,
// without a gap from Since to At.
type Watch struct {
	Since, At time.Time
	// Active is when each signal was last seen; absent: not since Since, or there is
	// nothing of the kind to see.
	Active map[api.IdleSignal]time.Time
	// Unknown are signals that there may be, and that cannot be seen.
	Unknown []api.IdleSignal
	// Cut is to what its times are rounded down; what it says may be as much later.
	Cut time.Duration
}

// OfSlice is what a node says of a slice; one that says nothing has not looked.
func OfSlice(a *api.SliceActivity) Watch {
	if a == nil {
		return Watch{}
	}
	w := Watch{Since: a.Since.Time, At: a.At.Time, Cut: time.Minute, Active: map[api.IdleSignal]time.Time{}}
	if a.GPUAt != nil {
		w.Active[api.IdleGPU] = a.GPUAt.Time
	}
	if a.CPUAt != nil {
		w.Active[api.IdleCPU] = a.CPUAt.Time
	}
	if a.TerminalAt != nil {
		w.Active[api.IdleTerminal] = a.TerminalAt.Time
	}
	for _, name := range a.Unknown {
		i := slices.IndexFunc(allSignals, func(s api.IdleSignal) bool { return strings.EqualFold(string(s), name) })
		if i >= 0 {
			w.Unknown = append(w.Unknown, allSignals[i])
		}
	}
	return w
}

// Signal is what is known of somebody's work.
type Signal struct {
	// Value is empty without an idle rule.
	Value api.ActivitySignal
	// ActiveAt is when it last worked; zero where nothing was seen.
	ActiveAt time.Time
	// Since is from when on it surely did nothing; zero where that is not known. It
	// is idle when that is as long ago as the rule says.
	Since time.Time
	// Seen is until when that was looked at; what it did afterwards nobody knows yet.
	Seen time.Time
	// Evidence says what was seen, in a sentence without an end.
	Evidence string
}

// Observe judges all watches of a workload by an idle rule. It has held its set since
// a time, before which nothing counts. Work that was seen makes it Active, whatever
// else is not known; it is Idle only if all of it was watched for the whole window,
// in all signals of the rule; else it is Unknown.
func Observe(rule Idle, watches []Watch, held, now time.Time) Signal {
	if rule.After <= 0 {
		return Signal{}
	}
	kind, at, until := rule.last(watches)
	s := Signal{Value: api.SignalUnknown, ActiveAt: at}
	why := rule.blind(watches, now)
	if why == "" {
		s.Since, s.Seen = later(held, until), watches[0].At
		for _, w := range watches {
			s.Seen = earlier(s.Seen, w.At)
			s.Since = later(s.Since, w.Since.Add(w.Cut))
		}
	}
	switch {
	case kind != "" && now.Sub(until) < rule.After:
		s.Value, s.Evidence = api.SignalActive, lastUsed(kind, at)
	case why != "":
		s.Evidence = why
	case now.Sub(s.Since) < rule.After:
		s.Evidence = "not watched before " + clockTime(s.Since)
	case kind != "":
		s.Value, s.Evidence = api.SignalIdle, lastUsed(kind, at)
	default:
		s.Value, s.Evidence = api.SignalIdle, "no use of "+signalList(rule.Signals)+" since "+clockTime(s.Since)
	}
	return s
}

// last is the signal of the rule that was seen last, and until when it may have gone on.
func (rule Idle) last(watches []Watch) (kind api.IdleSignal, at, until time.Time) {
	for _, signal := range rule.Signals { // in the rule's order, so that ties are settled
		for _, w := range watches {
			if seen, ok := w.Active[signal]; ok && (kind == "" || seen.Add(w.Cut).After(until)) {
				kind, at, until = signal, seen, seen.Add(w.Cut)
			}
		}
	}
	return kind, at, until
}

// blind says why it is not known whether it works now; empty when it is.
func (rule Idle) blind(watches []Watch, now time.Time) string {
	if len(watches) == 0 {
		return "its node says nothing of it"
	}
	for _, w := range watches {
		if w.At.IsZero() {
			return "its node says nothing of it"
		}
		if gap := now.Sub(w.At); gap > Fresh {
			return "not watched since " + clockTime(w.At)
		} else if gap < -Fresh {
			return "the clock of its node is ahead by more than " + length(Fresh)
		}
		for _, signal := range rule.Signals {
			if slices.Contains(w.Unknown, signal) {
				return signalNoun(signal) + " cannot be seen on its node"
			}
		}
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
