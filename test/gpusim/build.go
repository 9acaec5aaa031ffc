// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

//go:embed Makefile src include
var sources embed.FS

// built is a directory that holds libnvidia-ml.so.1 and gpusim.
type built struct{ dir string }

// build builds the embedded sources once for each version of them, into a
// cache directory that is named by their hash and appears by a rename, so that
// test processes may race for it.
var build = sync.OnceValues(func() (built, error) {
	hash, err := hashSources()
	if err != nil {
		return built{}, err
	}
	cache := cacheDir()
	b := built{dir: filepath.Join(cache, hash)}
	if _, err := os.Stat(filepath.Join(b.dir, "gpusim")); err == nil {
		return b, nil
	}
	return b, buildInto(cache, b.dir)
})

// cacheDir is the project's cache: $AIPUB_CACHE, or aipub in the user's.
func cacheDir() string {
	if dir := os.Getenv("AIPUB_CACHE"); dir != "" {
		return filepath.Join(dir, "gpusim")
	}
	user, err := os.UserCacheDir()
	if err != nil {
		user = os.TempDir()
	}
	return filepath.Join(user, "aipub", "gpusim")
}

func hashSources() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(data))
		h.Write(data)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:16], err
}

func buildInto(cache, dir string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	tmp, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return fmt.Errorf("make build directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.CopyFS(tmp, sources); err != nil {
		return fmt.Errorf("copy sources: %w", err)
	}
	cmd := exec.Command("make", "-s", "-j2", "OUT=out")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make: %w\n%s", err, out)
	}
	if err := os.Chmod(filepath.Join(tmp, "out"), 0o755); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(tmp, "out"), dir)
	if _, there := os.Stat(filepath.Join(dir, "gpusim")); there == nil {
		return nil // another process was first
	}
	return err
}
