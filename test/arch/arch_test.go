// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is one Go file of the product: no tests, nothing generated.
type source struct {
	path, pkg string // relative to the root
	file      *ast.File
	lines     int
}

const root = "../.."

func TestEachPackageImportsOnlyWhatItsRowAllows(t *testing.T) {
	fset, sources := load(t)
	for _, s := range sources {
		r, ok := rows[s.pkg]
		if !ok {
			t.Errorf("%s: package %s has no row in test/arch/rules_test.go; add one, and a line in docs/architecture.md", s.path, s.pkg)
			continue
		}
		for _, imp := range s.file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if why := refuse(s.pkg, r, path); why != "" {
				t.Errorf("%s: imports %s: %s", fset.Position(imp.Pos()), path, why)
			}
		}
	}
}

// refuse says why a row may not import a path; empty when it may.
func refuse(pkg string, r row, path string) string {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		target, known := rows[own]
		switch {
		case !known:
			return "it has no row; product code does not import test code"
		case !slices.Contains(r.imports, own) && !slices.Contains(r.imports, "*"):
			return "row " + pkg + " does not allow it"
		case target.floor > r.floor:
			return "imports never run upwards"
		}
		return ""
	}
	for guard, prefixes := range guards {
		for _, p := range prefixes {
			if strings.HasPrefix(path, p) && !slices.Contains(r.guarded, guard) {
				return guard + " is kept to the rows that name it"
			}
		}
	}
	if pkg == "api/v1alpha1" && strings.Contains(path, ".") && !hasAnyPrefix(path, apiImports) {
		return "the API imports apimachinery only"
	}
	return ""
}

func TestEachPackageExplainsItself(t *testing.T) {
	_, sources := load(t)
	docs := map[string]string{}
	for _, s := range sources {
		docs[s.pkg] += s.file.Doc.Text()
	}
	for pkg, doc := range docs {
		if strings.TrimSpace(doc) == "" {
			t.Errorf("package %s has no package comment", pkg)
		}
		for _, banned := range []string{"util", "utils", "common", "helpers", "types"} {
			if filepath.Base(pkg) == banned {
				t.Errorf("package %s: name it after what it does", pkg)
			}
		}
	}
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	fset, sources := load(t)
	for _, s := range sources {
		if s.lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", s.path, s.lines, maxFileLines)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, more than %d", s.path, f.Name.Name, n, maxFunctionLines)
			}
		}
	}
}

func TestNoPackageExitsOrPanicsButMain(t *testing.T) {
	fset, sources := load(t)
	for _, s := range sources {
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Exit" && isIdent(sel.X, "os") && s.file.Name.Name != "main" {
				t.Errorf("%s: os.Exit outside main", fset.Position(call.Pos()))
			}
			if isIdent(call.Fun, "panic") {
				t.Errorf("%s: panic; return an error", fset.Position(call.Pos()))
			}
			return true
		})
	}
}

func TestEachSourceFileNamesItsLicence(t *testing.T) {
	_, sources := load(t)
	for _, s := range sources {
		b, err := os.ReadFile(filepath.Join(root, s.path))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s: the first line must be // SPDX-License-Identifier: Apache-2.0", s.path)
		}
	}
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func hasAnyPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// load parses the product's sources. It fails when it finds suspiciously few,
// so that a moved folder does not pass for a clean one.
func load(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	fset := token.NewFileSet()
	var sources []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel == "test" || rel == "tools" || rel == "bin" || (strings.HasPrefix(d.Name(), ".") && rel != ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(d.Name(), "zz_generated") {
			return nil
		}
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		sources = append(sources, source{
			path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), file: f,
			lines: fset.File(f.Pos()).LineCount(),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 10 {
		t.Fatalf("found only %d source files under %s", len(sources), root)
	}
	return fset, sources
}
