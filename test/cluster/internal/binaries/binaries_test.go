// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/test/cluster/internal/progress"
)

func TestKeyChangesWithAllThatMatters(t *testing.T) {
	key := func(change func(dir string, s *Set) (goVersion, ldflags string)) string {
		t.Helper()
		s := tiny(t)
		goVersion, ldflags := change(s.Source, &s)
		key, err := s.key(goVersion, ldflags)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	same := func(string, *Set) (string, string) { return "go1", "-s" }
	base := key(same)
	if again := key(same); again != base {
		t.Errorf("the same sources in another folder have another key: %s, %s", base, again)
	}
	for name, change := range map[string]func(string, *Set) (string, string){
		"Go version": func(string, *Set) (string, string) { return "go2", "-s" },
		"flags":      func(string, *Set) (string, string) { return "go1", "-w" },
		"tags":       func(_ string, s *Set) (string, string) { s.Tags = "x"; return "go1", "-s" },
		"packages":   func(_ string, s *Set) (string, string) { s.Packages = []string{"./x"}; return "go1", "-s" },
		"links":      func(_ string, s *Set) (string, string) { s.Links = map[string]string{"a": "b"}; return "go1", "-s" },
		"source file": func(dir string, _ *Set) (string, string) {
			write(t, dir, "main.go", "package main\n")
			return "go1", "-s"
		},
		"new file": func(dir string, _ *Set) (string, string) { write(t, dir, "go.sum", ""); return "go1", "-s" },
	} {
		if key(change) == base {
			t.Errorf("another %s leaves the key as it is", name)
		}
	}
}

func TestVersionComesFromGoMod(t *testing.T) {
	for text, want := range map[string]string{
		"module m\n\nrequire example.org/x v1.2.3\n":                          "v1.2.3",
		"module m\n\nrequire (\n\texample.org/x v2.0.0 // indirect\n)\n":      "v2.0.0",
		"module m\n\nrequire example.org/xy v1.2.3\n":                         "",
		"module m\n\nreplace example.org/x => ../x\n":                         "",
		"module m\n\nreplace (\n\texample.org/x => example.org/x v0.1.2\n)\n": "",
	} {
		s := tiny(t)
		write(t, s.Source, "go.mod", text)
		got, err := s.Version()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestEverySetHasItsVersion(t *testing.T) {
	for _, set := range Sets("../..") {
		version, err := set.Version()
		if err != nil {
			t.Error(err)
			continue
		}
		if flags := set.ldflags(version); !strings.Contains(flags, "="+version) || strings.Contains(flags, "%") {
			t.Errorf("%s: flags %q do not stamp %s", set.Name, flags, version)
		}
	}
}

func TestUnfinishedBuildIsNotTaken(t *testing.T) {
	s, cache := tiny(t), t.TempDir()
	var out bytes.Buffer
	report := progress.Reporter{Out: &out, Every: time.Minute, Now: time.Now}
	write(t, s.Source, "main.go", "package main\n\nfunc main() { undefined() }\n")
	if _, err := s.Ensure(cache, report); err == nil || !strings.Contains(err.Error(), "undefined") {
		t.Fatalf("build of a broken program: %v", err)
	}
	write(t, s.Source, "main.go", "package main\n\nfunc main() {}\n")
	dir, err := s.Ensure(cache, report)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "alias")); err != nil {
		t.Error("the link leads nowhere:", err)
	}
	out.Reset()
	if again, err := s.Ensure(cache, report); err != nil || again != dir || out.Len() > 0 {
		t.Errorf("a second call built again: %q, %v, %q", again, err, out.String())
	}
}

// tiny is a set with one small program.
func tiny(t *testing.T) Set {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tiny")
	write(t, dir, "go.mod", "module tiny\n\ngo 1.26.0\n\n// example.org/x v0.0.1\nrequire example.org/x v1.0.0\n")
	write(t, dir, "main.go", "package main\n\nfunc main() {}\n")
	return Set{Name: "tiny", Source: dir, Module: "example.org/x", Packages: []string{"."}, Links: map[string]string{"alias": "tiny"}}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
