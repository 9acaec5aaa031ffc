// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"time"

	"aipub.io/aipub/gpu"
)

// Tracker remembers when the holders of slices were seen to work. It is not safe
// for concurrent use.
type Tracker struct {
	limits Thresholds
	tracks map[gpu.SliceID]*track
}

// NewTracker makes a tracker that knows nothing.
func NewTracker(t Thresholds) *Tracker {
	return &Tracker{limits: t, tracks: map[gpu.SliceID]*track{}}
}

// Observe takes in a sample and says what is known now of each of its slices.
// What it does not name is forgotten.
func (t *Tracker) Observe(s Sample) map[gpu.SliceID]Report {
	tracks, reports := map[gpu.SliceID]*track{}, map[gpu.SliceID]Report{}
	for _, slice := range s.Slices {
		one := t.tracks[slice.ID]
		if one == nil || !one.follow(slice.Holder) {
			one = newTrack(slice.Holder, s.Boot)
		}
		one.observe(slice, s.Boot, t.limits)
		tracks[slice.ID] = one
		reports[slice.ID] = one.report(s.Boot, s.Wall)
	}
	t.tracks = tracks
	return reports
}

// follow reports whether the slice still has the same holder. A UID may become
// known later than the names.
func (t *track) follow(h gpu.Holder) bool {
	was := t.holder
	if was.PodUID == "" || h.PodUID == "" {
		was.PodUID = h.PodUID
	}
	if was != h {
		return false
	}
	if h.PodUID != "" {
		t.holder = h
	}
	return true
}

// Idle is how long ago each signal last showed work, or since when it is watched
// if it did not; without those that are not known.
type Idle map[Signal]time.Duration
