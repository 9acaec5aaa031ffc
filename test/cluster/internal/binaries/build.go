// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aipub.io/aipub/test/cluster/internal/lock"
	"aipub.io/aipub/test/cluster/internal/progress"
)

// Ensure returns the cache folder that holds the set's programs, and builds
// them first where it is missing. A folder appears there only when complete.
func (s Set) Ensure(cache string, report progress.Reporter) (string, error) {
	version, err := s.Version()
	if err != nil {
		return "", err
	}
	goVersion, err := output("go", "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("find Go: %w", err)
	}
	ldflags := s.ldflags(version)
	key, err := s.key(goVersion, ldflags)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, strings.Join([]string{s.Name, version, key}, "-"))
	if exists(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("make cache folder: %w", err)
	}
	held, err := lock.Take(filepath.Join(cache, "build.lock"), report)
	if err != nil {
		return "", err
	}
	defer held.Release()
	if exists(dir) { // whoever held the lock built it
		return dir, nil
	}
	step := report.Step(fmt.Sprintf("building %s %s", s.Name, strings.TrimPrefix(version, "v")), s.Expect+", cached afterwards")
	return dir, step.End(s.build(dir, ldflags))
}

// build makes the programs in a folder beside dir and renames it to dir.
// Only one build runs at a time, so what an interrupted one left is removed.
func (s Set) build(dir, ldflags string) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fmt.Errorf("remove unfinished build: %w", err)
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return fmt.Errorf("make build folder: %w", err)
	}
	args := []string{"build", "-C", s.Source, "-tags", s.Tags, "-ldflags", ldflags, "-o", part + "/"}
	cmd := exec.Command("go", append(args, s.Packages...)...)
	// What the caller's environment sets for its own builds must not change these.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", s.Name, err, tail(out, 20))
	}
	for name, target := range s.Links {
		if err := os.Symlink(target, filepath.Join(part, name)); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	if err := os.Rename(part, dir); err != nil {
		return fmt.Errorf("keep build of %s: %w", s.Name, err)
	}
	return nil
}

// ldflags strips the symbol tables and stamps the version, without which
// clients see v0.0.0.
func (s Set) ldflags(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	fill := strings.NewReplacer("%v", version, "%M", parts[0], "%m", parts[1])
	flags := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(s.Stamp)) {
		flags = append(flags, "-X", name+"="+fill.Replace(s.Stamp[name]))
	}
	return strings.Join(flags, " ")
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return strings.Join(strings.Fields(string(out)), " "), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func tail(out []byte, lines int) []byte {
	all := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
