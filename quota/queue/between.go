// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoRoom says that no key sorts between two others: they are the same, or as
// long as keys get.
var ErrNoRoom = errors.New("there is no room between the two keys")

// Between returns a key that sorts strictly between two keys. An empty one is the
// open end of the queue on that side. Errors: a key that is none, the two in wrong
// order, or ErrNoRoom.
//
// Of two neighbours the longer one is the one that came last, because a key made
// in a fresh gap is longer than both. The next move to the same place is a step
// beside it, of the same length; only where that step is taken does the key grow.
func Between(before, after string) (string, error) {
	for _, k := range []string{before, after} {
		if k == "" {
			continue
		}
		if err := CheckKey(k); err != nil {
			return "", err
		}
	}
	open := after == ""
	switch {
	case before != "" && before == after:
		return "", ErrNoRoom
	case !open && before > after:
		return "", fmt.Errorf("the keys %q and %q are in the wrong order", before, after)
	}
	a, b := fromKey(before), fromKey(after)
	if x, ok := beside(a, b, open); ok {
		return toKey(x), nil
	}
	width := max(len(a), len(b)) + growth(a, b)
	if width > MaxKey {
		return "", ErrNoRoom
	}
	return toKey(middle(a, b, open, width)), nil
}

// digits are a fraction of one in base [base], the first digit the largest.
// Without trailing zeros they compare as the strings that they came from.
type digits []int

func fromKey(key string) digits {
	d := make(digits, len(key))
	for i := range len(key) {
		d[i] = digit(key[i])
	}
	return d
}

func toKey(d digits) string {
	key := make([]byte, len(d))
	for i, v := range d {
		key[i] = Alphabet[v]
	}
	return string(key)
}

// beside is one step from the longer neighbour towards the other, at its length.
func beside(a, b digits, open bool) (digits, bool) {
	switch {
	case len(a) > len(b):
		x, ok := step(a, 1)
		return x, ok && (open || slices.Compare(x, b) < 0)
	case len(b) > len(a):
		x, ok := step(b, -1)
		return x, ok && slices.Compare(a, x) < 0
	}
	return nil, false
}

// step adds or takes one unit of the last digit, twice where the sum would end in
// zero. It is false where that leaves the fractions between 0 and 1.
func step(d digits, by int) (digits, bool) {
	x := slices.Clone(d)
	for {
		i := len(x) - 1
		for ; i >= 0; i-- {
			x[i] += by
			if x[i] >= 0 && x[i] < base {
				break
			}
			x[i] = (x[i] + base) % base
		}
		if i < 0 {
			return nil, false
		}
		if x[len(x)-1] != 0 {
			return x, true
		}
	}
}

// growth is by how many digits a key outgrows the longer of its neighbours: two
// in a fresh gap, four where such a key has used up its own.
func growth(a, b digits) int {
	if d := len(a) - len(b); d <= -2 || d >= 2 {
		return 4
	}
	return 2
}

// middle is half of a + b in width digits, a + 1 where the end is open. Width is
// at least two more than either has, so the two are at least base² apart in its
// last digit and what is rounded away does not matter.
func middle(a, b digits, open bool, width int) digits {
	sum := make(digits, width+1) // the first one is the ones
	carry := 0
	for i := width - 1; i >= 0; i-- {
		v := at(a, i) + at(b, i) + carry
		sum[i+1], carry = v%base, v/base
	}
	sum[0] = carry
	if open {
		sum[0]++
	}
	rest := 0
	for i, v := range sum {
		v += rest * base
		sum[i], rest = v/2, v%2
	}
	x := sum[1:]
	if x[width-1] == 0 {
		x[width-1] = 1
	}
	return x
}

func at(d digits, i int) int {
	if i < len(d) {
		return d[i]
	}
	return 0
}
