// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEveryMetricIsDocumented compares the names in the programs' metrics*.go
// with the tables of docs/metrics.md.
func TestEveryMetricIsDocumented(t *testing.T) {
	sources, err := filepath.Glob("../../cmd/*/metrics*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no cmd/*/metrics*.go (%v)", err)
	}
	code := names(t, regexp.MustCompile(`"(aipub_[a-z0-9_]+)"`), sources...)
	docs := names(t, regexp.MustCompile("(?m)^\\| `(aipub_[a-z0-9_]+)` \\|"), "../../docs/metrics.md")
	if diff := cmp.Diff(docs, code); diff != "" {
		t.Errorf("metrics in docs/metrics.md (-) and in cmd/*/metrics*.go (+) differ:\n%s", diff)
	}
}

// names returns the first group of every match, sorted, once each.
func names(t *testing.T, pattern *regexp.Regexp, paths ...string) []string {
	t.Helper()
	var all []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range pattern.FindAllSubmatch(raw, -1) {
			all = append(all, string(match[1]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
