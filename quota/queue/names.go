// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"strings"
)

// CompareNames orders the names of one workload's pods as people count: train-2 before
// train-10. Pods that were made in the same second have no better order; an indexed Job
// and a StatefulSet write the number into the name.
func CompareNames(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		n, m := digitsOf(x), digitsOf(y)
		if n == 0 || m == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		if c := compareNumbers(x[:n], y[:m]); c != 0 {
			return c
		}
		x, y = x[n:], y[m:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digitsOf is how many digits a text begins with.
func digitsOf(text string) int {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}

// compareNumbers orders numbers of any length.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}
