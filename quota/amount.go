// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"maps"
	"slices"
)

// units is the dimension of GPU-equivalents, beside the names of sets, which are
// never empty.
const units = ""

// most is the most that one claim or floor counts in one dimension. Sums of it
// over four million claims still fit an int64, so sums never have to be cut off
// and what was added can be taken away exactly.
const most = 1 << 40

// amount is how much of one dimension: of a set by its name, or units.
type amount struct {
	set string
	n   int64
}

// amounts has one entry per dimension. Few, so that a walk beats a map.
type amounts []amount

func (a amounts) of(set string) int64 {
	for i := range a {
		if a[i].set == set {
			return a[i].n
		}
	}
	return 0
}

// covers says whether a has no less than b in anything.
func (a amounts) covers(b amounts) bool {
	return !slices.ContainsFunc(b, func(x amount) bool { return a.of(x.set) < x.n })
}

// plus adds n to one dimension; what comes to nothing leaves the list.
func (a amounts) plus(set string, n int64) amounts {
	for i := range a {
		if a[i].set != set {
			continue
		}
		if a[i].n += n; a[i].n == 0 {
			return slices.Delete(a, i, i+1)
		}
		return a
	}
	if n == 0 {
		return a
	}
	return append(a, amount{set, n})
}

// minus is a without b; a stays as it is.
func (a amounts) minus(b amounts) amounts {
	rest := slices.Clone(a)
	for _, x := range b {
		rest = rest.plus(x.set, -x.n)
	}
	return rest
}

// amountsOf is what times pods that ask for these sets come to, by set name and
// then in units. A set without a known size has no units.
func (s Sizes) amountsOf(sets map[string]int64, times int64) amounts {
	a := make(amounts, 0, len(sets)+1)
	total := int64(0)
	for name, n := range sets {
		if n <= 0 || times <= 0 || name == units {
			continue
		}
		n = product(n, times)
		a = append(a, amount{name, n})
		if size := int64(s[name]); size > 0 {
			total = min(total+product(n, size), most)
		}
	}
	if len(a) > 1 {
		slices.SortFunc(a, bySet)
	}
	if total > 0 {
		a = append(a, amount{units, total})
	}
	return a
}

func bySet(a, b amount) int {
	switch {
	case a.set < b.set:
		return -1
	case a.set > b.set:
		return 1
	}
	return 0
}

// product of two positive numbers, at most most.
func product(a, b int64) int64 {
	if a > most/b {
		return most
	}
	return a * b
}

// clone copies the sizes, so that whoever gave them may go on changing them.
func (s Sizes) clone() Sizes { return maps.Clone(s) }
