// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseMounts(t *testing.T) {
	got, err := parseMounts("22 27 0:21 / /proc rw,relatime - proc proc rw\n" +
		`40 27 254:0 /a /mnt/a\040b rw shared:1 master:2 - ext4 /dev/vda rw,discard` + "\n")
	want := []mount{{"/proc", "proc", "rw"}, {"/mnt/a b", "ext4", "rw,discard"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := parseMounts("no mount\n"); err == nil {
		t.Error("an unreadable line is passed over")
	}
}

func TestWithin(t *testing.T) {
	for path, want := range map[string]bool{"/a/b": true, "/a/b/c": true, "/a/bc": false, "/a": false} {
		if within(path, "/a/b") != want {
			t.Errorf("within(%q) = %v", path, !want)
		}
	}
}

func TestLinksRemovesOnlyOurs(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{"ours": "/pods/a/0.log", "theirs": "/podsx/0.log"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Links(dir, "/pods"); err != nil {
		t.Fatal(err)
	}
	checkNames(t, dir, "theirs")
}

func TestEmptyKeeps(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"logs/a", "etcd/b"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := Empty(dir, "logs"); err != nil {
		t.Fatal(err)
	}
	checkNames(t, dir, "logs")
	if err := Empty(filepath.Join(dir, "none")); err != nil {
		t.Error("a folder that does not exist:", err)
	}
}

func checkNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}
