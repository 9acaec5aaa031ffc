// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"aipub.io/aipub/gpu"
)

// ParseUnits turns GPU-equivalents, such as "0.5", into units. What lies between
// two units is rounded down, and exact is false then. Less than nothing is
// nothing; more than fits is the most that fits.
func ParseUnits(q resource.Quantity) (u Units, exact bool) {
	q = q.DeepCopy() // reading as a decimal changes how a quantity is kept
	dec := q.AsDec()
	n := new(big.Int).Mul(dec.UnscaledBig(), big.NewInt(gpu.UnitsPerGPU))
	ten := big.NewInt(10)
	rest := new(big.Int)
	if s := int64(dec.Scale()); s > 0 {
		n.QuoRem(n, new(big.Int).Exp(ten, big.NewInt(s), nil), rest)
	} else {
		n.Mul(n, new(big.Int).Exp(ten, big.NewInt(-s), nil))
	}
	switch {
	case n.Sign() < 0 || rest.Sign() < 0:
		return 0, false
	case !n.IsInt64():
		return math.MaxInt64, false
	}
	return Units(n.Int64()), rest.Sign() == 0
}

// String is the number of GPUs, rounded to thousandths: "0.25", "1", "0.143".
func (u Units) String() string {
	whole, thousandths, sign := u.split()
	text := sign + strconv.FormatInt(whole, 10)
	if thousandths == 0 {
		return text
	}
	digits := strconv.FormatInt(1000+thousandths, 10)[1:]
	return text + "." + strings.TrimRight(digits, "0")
}

// Quantity is the number of GPUs, rounded to thousandths. It is for display:
// decisions are made in units.
func (u Units) Quantity() resource.Quantity {
	whole, thousandths, sign := u.split()
	milli := whole*1000 + thousandths // at most MaxInt64/25200*1000
	if sign != "" {
		milli = -milli
	}
	return *resource.NewMilliQuantity(milli, resource.DecimalSI)
}

// split is |u| as GPUs and thousandths of one, half a thousandth rounded up.
func (u Units) split() (whole, thousandths int64, sign string) {
	n := int64(u)
	whole, rest := n/gpu.UnitsPerGPU, n%gpu.UnitsPerGPU
	if n < 0 {
		whole, rest, sign = -whole, -rest, "-"
	}
	thousandths = (rest*1000 + gpu.UnitsPerGPU/2) / gpu.UnitsPerGPU
	if thousandths == 1000 {
		whole, thousandths = whole+1, 0
	}
	if whole == 0 && thousandths == 0 {
		sign = ""
	}
	return whole, thousandths, sign
}
