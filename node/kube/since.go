// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// since keeps the times of slices that nobody holds across agents: an agent that
// starts knows what is held, and takes all else for what it is since now. Nothing
// can be given away while no agent runs, so what was said before is true still.
type since struct {
	// before are the slices that the last agent told of and this one has not yet.
	before map[string]api.NodeSlice
	// kept are those whose time is the last agent's for as long as this one has
	// them as it found them.
	kept map[string]keptSince
}

type keptSince struct {
	state     api.SliceState
	here, was metav1.Time // by this agent and by the last one
}

// sinceOf remembers what the last agent told.
func sinceOf(last []api.NodeSlice) *since {
	s := &since{before: map[string]api.NodeSlice{}, kept: map[string]keptSince{}}
	for _, one := range last {
		if held := one.State == api.SliceState(gpu.StateHeld) || one.State == api.SliceState(gpu.StateRetired); !held {
			s.before[one.ID] = one
		}
	}
	return s
}

// keep returns what this agent tells of slices, with the times that are the last
// one's.
func (s *since) keep(now []api.NodeSlice) []api.NodeSlice {
	now = slices.Clone(now)
	for i := range now {
		one := &now[i]
		if old, is := s.before[one.ID]; is {
			delete(s.before, one.ID)
			if one.State == old.State && old.Since.Before(&one.Since) {
				s.kept[one.ID] = keptSince{one.State, one.Since, old.Since}
			}
		}
		k, is := s.kept[one.ID]
		switch {
		case !is:
		case one.State == k.state && one.Since.Equal(&k.here):
			one.Since = k.was
		default:
			delete(s.kept, one.ID)
		}
	}
	return now
}
