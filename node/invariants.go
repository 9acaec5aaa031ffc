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
func Invariants(s gpu.Snapshot) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	left := maps.Clone(s.Totals)
	seen := map[gpu.SliceID]bool{}
	for _, st := range s.Slices {
		id := st.Slice.ID
		if seen[id] {
			bad("slice %s stands there twice", id)
		}
		seen[id] = true
		held := st.State == gpu.StateHeld || st.State == gpu.StateRetired
		if !held && !st.Holder.IsZero() {
			bad("slice %s is %s but has holder %v", id, st.State, st.Holder)
		}
		if (st.State == gpu.StateBlocked) != (st.BlockedBy != "") {
			bad("slice %s is %s with blocking counter %q", id, st.State, st.BlockedBy)
		}
		if st.State == gpu.StateFree && st.Slice.Kind == gpu.KindMIG && st.Instance == nil {
			bad("slice %s is free without hardware", id)
		}
		if st.State == gpu.StateFree && !st.Health.OK {
			bad("slice %s is free but not healthy", id)
		}
		if st.Since.IsZero() {
			bad("slice %s does not say since when", id)
		}
		for _, u := range st.Slice.Uses {
			if _, ok := s.Totals[u.Counter]; held && ok {
				left[u.Counter] -= u.Amount
			}
		}
	}
	for c, n := range left {
		if n < 0 {
			bad("counter %s of %d is exceeded by %d", c, s.Totals[c], -n)
		}
		if n != s.Left[c] {
			bad("counter %s has %d left, snapshot says %d", c, n, s.Left[c])
		}
	}
	return errors.Join(append(errs, freeCounts(s)...)...)
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
