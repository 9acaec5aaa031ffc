// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"
	"math/bits"
)

// tally is a sum of amounts from 0, exact up to 2^127: the sizes that an API server accepts
// reach 2^63, and some of them together are more.
type tally struct{ hi, lo uint64 }

// plus adds n, which is 0 or more.
func (t tally) plus(n int64) tally {
	lo, carry := bits.Add64(t.lo, uint64(n), 0)
	return tally{t.hi + carry, lo}
}

// minus takes away what was added before.
func (t tally) minus(n int64) tally {
	lo, borrow := bits.Sub64(t.lo, uint64(n), 0)
	return tally{t.hi - borrow, lo}
}

// above reports whether the sum is more than n, which is 0 or more.
func (t tally) above(n int64) bool { return t.hi > 0 || t.lo > uint64(n) }

// int64 is the sum, or the largest number there is.
func (t tally) int64() int64 {
	if t.above(math.MaxInt64) {
		return math.MaxInt64
	}
	return int64(t.lo)
}
