// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestParseUnits(t *testing.T) {
	for text, wanted := range map[string]struct {
		units Units
		exact bool
	}{
		"0": {0, true}, "1": {25200, true}, "0.5": {12600, true}, "250m": {6300, true}, "0.01": {252, true},
		"4": {100800, true}, "1k": {25200000, true}, "1Ki": {25804800, true},
		"0.143":  {3603, false}, // 3603.6
		"0.0001": {2, false}, "1n": {0, false}, "-1": {0, false}, "-0.00001": {0, false},
		"9E18": {math.MaxInt64, false}, "400T": {math.MaxInt64, false}, "300T": {300e12 * 25200, true},
	} {
		q := resource.MustParse(text)
		u, exact := ParseUnits(q)
		if u != wanted.units || exact != wanted.exact {
			t.Errorf("ParseUnits(%s) = %d, %t, want %d, %t", text, u, exact, wanted.units, wanted.exact)
		}
		if again := resource.MustParse(text); q.Cmp(again) != 0 || q.String() != again.String() {
			t.Errorf("ParseUnits changed its argument from %s to %s", again.String(), q.String())
		}
	}
}

func TestUnitsAreShownInThousandths(t *testing.T) {
	for u, wanted := range map[Units]string{
		0: "0", 1: "0", 12: "0", 13: "0.001", 6300: "0.25", 12600: "0.5", 3600: "0.143", 25187: "0.999", 25188: "1", 25200: "1",
		25452: "1.01", 88200: "3.5", -6300: "-0.25", -1: "0",
		math.MaxInt64: "366006826859316.5", math.MinInt64 + 1: "-366006826859316.5",
	} {
		if got := u.String(); got != wanted {
			t.Errorf("Units(%d) = %q, want %q", int64(u), got, wanted)
		}
		parsed, q := resource.MustParse(wanted), u.Quantity()
		if q.Cmp(parsed) != 0 {
			t.Errorf("Units(%d).Quantity() = %s, want %s", int64(u), q.String(), wanted)
		}
	}
}

// Nothing that decides may round: floats are allowed in Load alone, which orders
// projects.
func TestFloatsOnlyInLoad(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			fn, isFunc := d.(*ast.FuncDecl)
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || id.Name != "float64" && id.Name != "float32" {
					return true
				}
				if seen++; !isFunc || !strings.EqualFold(fn.Name.Name, "load") {
					t.Errorf("%s uses %s outside Load", f.Name(), id.Name)
				}
				return true
			})
		}
	}
	if seen == 0 {
		t.Error("found not even the floats of Load: does the test still look where they are?")
	}
}
