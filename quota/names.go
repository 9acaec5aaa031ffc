// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	api "aipub.io/aipub/api/v1alpha1"
)

// Unknown says which sets a quota limits that do not exist, each with the names
// closest to it, in the order of its fields; empty where all exist. Such a limit is in
// force all the same: a set of the name may be defined later.
func Unknown(l api.QuotaLimits, sizes Sizes) string {
	known := slices.Sorted(maps.Keys(sizes))
	var sentences []string
	look := func(field string, sets map[string]int32) {
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			if _, ok := sizes[set]; ok {
				continue
			}
			instead := "; there are none yet"
			if len(known) > 0 {
				instead = "; there are, closest first: " + Closest(strings.TrimPrefix(set, "set-"), known)
			}
			sentences = append(sentences, fmt.Sprintf("%s[%s]: no set has this name%s", field, set, instead))
		}
	}
	look("spec.limits.sets", l.Sets)
	for _, kind := range slices.Sorted(maps.Keys(l.ByType)) {
		look(fmt.Sprintf("spec.limits.byType[%s].sets", kind), l.ByType[kind].Sets)
	}
	const most = 5
	if n := len(sentences); n > most {
		sentences = append(sentences[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(sentences, "; ")
}

// maxNames bounds how many set names one sentence lists.
const maxNames = 8

// Closest lists names by how little they differ from the wanted one, then by
// alphabet, at most maxNames of them.
func Closest(wanted string, names []string) string {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(editDistance(wanted, a), editDistance(wanted, b)), cmp.Compare(a, b))
	})
	if len(sorted) > maxNames {
		return strings.Join(sorted[:maxNames], ", ") + ", …"
	}
	return strings.Join(sorted, ", ")
}

// editDistance is the number of bytes to insert, delete or replace to make b
// of a (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
