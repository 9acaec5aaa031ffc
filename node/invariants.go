// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"maps"

	"aipub.io/aipub/gpu"
)

// Invariants returns every rule that a snapshot breaks; nil when it is sound.
// It checks that no counter is exceeded, that what is left is right, that each
// slice stands there once with the fields of its state, and that each set shows
// as many free slices as can be taken. Tests end with it.
//
// Counters are exceeded where a new layout has shrunk one below what is held of
// it, and where the kubelet was seen to have given away too much.
func Invariants(s gpu.Snapshot) error {
	var errs []error
	left := maps.Clone(s.Totals)
	seen := map[gpu.SliceID]bool{}
	for _, st := range s.Slices {
		if seen[st.Slice.ID] {
			errs = append(errs, fmt.Errorf("slice %s stands there twice", st.Slice.ID))
		}
		seen[st.Slice.ID] = true
		errs = append(errs, fields(st)...)
		if !isHeld(st.State) {
			continue
		}
		for _, u := range st.Slice.Uses {
			if _, ok := s.Totals[u.Counter]; ok {
				left[u.Counter] -= u.Amount
			}
		}
	}
	for c, n := range left {
		if n < 0 {
			errs = append(errs, fmt.Errorf("counter %s of %d is exceeded by %d", c, s.Totals[c], -n))
		}
		if n != s.Left[c] {
			errs = append(errs, fmt.Errorf("counter %s has %d left, snapshot says %d", c, n, s.Left[c]))
		}
	}
	return errors.Join(append(errs, freeCounts(s)...)...)
}

func isHeld(s gpu.State) bool { return s == gpu.StateHeld || s == gpu.StateRetired }

// fields checks that a slice has the fields of its state.
func fields(st gpu.Status) (errs []error) {
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("slice %s is %s "+format, append([]any{st.Slice.ID, st.State}, args...)...))
	}
	if !isHeld(st.State) && !st.Holder.IsZero() {
		bad("but has holder %v", st.Holder)
	}
	if (st.State == gpu.StateBlocked) != (st.BlockedBy != "") {
		bad("with blocking counter %q", st.BlockedBy)
	}
	if st.State == gpu.StateFree && st.Slice.Kind == gpu.KindMIG && st.Instance == nil {
		bad("without hardware")
	}
	if st.State == gpu.StateFree && !st.Health.OK {
		bad("but not healthy")
	}
	if st.Since.IsZero() {
		bad("but does not say since when")
	}
	return errs
}

// freeCounts checks that the free slices of each set can be taken together, and
// none of its blocked ones besides.
func freeCounts(s gpu.Snapshot) (errs []error) {
	bySet := map[string]map[gpu.Counter]int64{}
	for _, st := range s.Slices {
		left := bySet[st.Slice.Set]
		if left == nil {
			left = maps.Clone(s.Left)
			bySet[st.Slice.Set] = left
		}
		_, ok := st.Slice.Fits(left)
		if _, counted := s.Totals[st.BlockedBy]; st.State == gpu.StateBlocked && counted && ok {
			errs = append(errs, fmt.Errorf("slice %s is blocked but could be taken", st.Slice.ID))
		}
		if st.State != gpu.StateFree {
			continue
		}
		if !ok {
			errs = append(errs, fmt.Errorf("slice %s is free but could not be taken", st.Slice.ID))
		}
		take(st.Slice, left)
	}
	return errs
}
