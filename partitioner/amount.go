// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"math"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	milliCore = 1000
	cpuStep   = 10 // of a set smaller than one core
	mebibyte  = int64(1) << 20
	gibibyte  = int64(1) << 30
	memStep   = 64 * mebibyte // of a set of one GiB or more
)

// amount is CPU in thousandths of a core and memory in bytes.
type amount struct{ cpu, mem int64 }

func (a amount) plus(b amount) amount  { return amount{a.cpu + b.cpu, a.mem + b.mem} }
func (a amount) minus(b amount) amount { return amount{a.cpu - b.cpu, a.mem - b.mem} }
func (a amount) fits(room amount) bool { return a.cpu <= room.cpu && a.mem <= room.mem }

// atLeastZero is a with negative parts made zero.
func (a amount) atLeastZero() amount { return amount{max(a.cpu, 0), max(a.mem, 0)} }

// min is the smaller of each part.
func (a amount) min(b amount) amount { return amount{min(a.cpu, b.cpu), min(a.mem, b.mem)} }

// max is the larger of each part.
func (a amount) max(b amount) amount { return amount{max(a.cpu, b.cpu), max(a.mem, b.mem)} }

// part is num/den of a, rounded down. Preconditions: as mulDiv.
func (a amount) part(num, den int64) amount {
	return amount{mulDiv(a.cpu, num, den), mulDiv(a.mem, num, den)}
}

// roundCPU rounds down to what a set may have.
func roundCPU(milli int64) int64 {
	if milli >= milliCore {
		return milli - milli%milliCore
	}
	return milli - milli%cpuStep
}

// roundMemory rounds down to what a set may have.
func roundMemory(bytes int64) int64 {
	if bytes >= gibibyte {
		return bytes - bytes%memStep
	}
	return bytes - bytes%mebibyte
}

// mulDiv is a*num/den rounded down, without overflow in between; a result that
// does not fit becomes the largest number that does.
// Preconditions: a, num >= 0; den > 0.
func mulDiv(a, num, den int64) int64 {
	q, _ := divMod(a, num, den)
	return q
}

// divMod is the quotient and remainder of a*num/den. Preconditions: as mulDiv.
func divMod(a, num, den int64) (q, r int64) {
	hi, lo := bits.Mul64(uint64(a), uint64(num))
	if hi >= uint64(den) {
		return math.MaxInt64, 0
	}
	uq, ur := bits.Div64(hi, lo, uint64(den))
	return int64(min(uq, math.MaxInt64)), int64(ur)
}

// portion divides total over the weights in proportion, exactly: the parts add
// up to total, and where total is not above the sum of the weights no part is
// above its weight. Weights of zero only are taken as equal.
func portion(total int64, weights []int64) []int64 {
	var sum int64
	for _, w := range weights {
		sum += w
	}
	if sum == 0 {
		weights, sum = equal(len(weights)), int64(len(weights))
	}
	parts := make([]int64, len(weights))
	rests := make([]bool, len(weights))
	left := total
	for i, w := range weights {
		q, r := divMod(total, w, sum)
		parts[i], rests[i] = q, r > 0
		left -= q
	}
	for i := 0; left > 0 && i < len(parts); i++ {
		if rests[i] {
			parts[i]++
			left--
		}
	}
	return parts
}

func equal(n int) []int64 {
	ones := make([]int64, n)
	for i := range ones {
		ones[i] = 1
	}
	return ones
}

// cores and bytesOf print amounts as users write them.
func cores(milli int64) string {
	return resource.NewMilliQuantity(milli, resource.DecimalSI).String()
}

func bytesOf(bytes int64) string {
	return resource.NewQuantity(bytes, resource.BinarySI).String()
}
