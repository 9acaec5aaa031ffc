// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestNamesAreOrderedAsPeopleCount(t *testing.T) {
	want := []string{"a", "a-0", "a-2-zz", "a-10-aa", "a-10-ab", "a-100", "b", "b-01", "b-1", "b-002", "b-99999999999999999999", "b-100000000000000000000"}
	got := slices.Clone(want)
	for range 50 {
		rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, CompareNames)
		if !slices.Equal(got, want) {
			t.Fatalf("got %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}

// FuzzCompareNames holds that it is an order.
func FuzzCompareNames(f *testing.F) {
	f.Add("a1", "a01", "a2")
	f.Add("1a", "1", "a")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if CompareNames(a, b) != -CompareNames(b, a) || (CompareNames(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: %d, and back %d", a, b, CompareNames(a, b), CompareNames(b, a))
		}
		if CompareNames(a, b) <= 0 && CompareNames(b, c) <= 0 && CompareNames(a, c) > 0 {
			t.Errorf("%q, %q, %q are in no order", a, b, c)
		}
	})
}
