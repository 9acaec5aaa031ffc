// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"slices"
	"strings"
)

// maxNamesShown bounds how many set names one sentence lists.
const maxNamesShown = 8

// closest lists names by how little they differ from the wanted one, then by
// alphabet, at most maxNamesShown of them.
func closest(wanted string, names []string) string {
	if len(names) == 0 {
		return "none; ask the platform team for a PartitionPolicy"
	}
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(editDistance(wanted, a), editDistance(wanted, b)), cmp.Compare(a, b))
	})
	if len(sorted) > maxNamesShown {
		return strings.Join(sorted[:maxNamesShown], ", ") + ", …"
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
