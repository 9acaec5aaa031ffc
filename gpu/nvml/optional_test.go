// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestEveryOptionalCallIsLookedUp compares what the code asks for with the list:
// a name that is not in it would count as missing on every driver.
func TestEveryOptionalCallIsLookedUp(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, f := range files {
		source, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\.has\("([A-Za-z0-9_]+)"\)`).FindAllStringSubmatch(string(source), -1) {
			asked = append(asked, m[1])
		}
	}
	slices.Sort(asked)
	if got := slices.Compact(asked); !slices.Equal(got, slices.Sorted(slices.Values(optional))) {
		t.Errorf("the code asks for %v, and %v are looked up", got, optional)
	}
}
