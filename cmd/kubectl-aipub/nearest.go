// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// didYouMean is `; did you mean "x"?` where one of the names is near the word,
// and nothing where none is.
func didYouMean(word string, names []string) string {
	if best, ok := nearest(word, names); ok {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// nearest is the name with the fewest letters to change, and whether those are
// few enough that it may be meant.
func nearest(word string, names []string) (string, bool) {
	best, least := "", len(word)
	for _, n := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best, best != "" && least <= max(1, len(word)/3)
}

// distance is the number of letters to insert, delete, replace, or swap with
// the next, that turn a into b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now := make([]int, len(b)+1)
		now[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			now[j+1] = min(last[j]+change, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}
