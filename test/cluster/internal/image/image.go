// SPDX-License-Identifier: Apache-2.0

// Package image makes the two images a cluster without a registry starts with.
package image

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"aipub.io/aipub/test/cluster/internal/debian"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The images' names.
const (
	Pause   = "aipub.test/pause:1"
	Busybox = "aipub.test/busybox:1"
)

//go:embed pause/pause.c
var pauseSource []byte

// Ensure returns the archives of both images, and makes them first where the
// cache lacks them.
func Ensure(cache string) ([]string, error) {
	busybox, err := os.ReadFile(debian.Busybox)
	if err != nil {
		return nil, fmt.Errorf("read busybox: %w", err)
	}
	dir := filepath.Join(cache, "images-"+key(pauseSource, busybox))
	archives := []string{filepath.Join(dir, "pause.tar"), filepath.Join(dir, "busybox.tar")}
	if _, err := os.Stat(dir); err == nil {
		return archives, nil
	}
	part, err := os.MkdirTemp(cache, "images-*.part")
	if err != nil {
		return nil, fmt.Errorf("make image folder: %w", err)
	}
	defer os.RemoveAll(part)
	if err := makeAll(part, busybox); err != nil {
		return nil, err
	}
	if err := os.Rename(part, dir); err != nil && !os.IsExist(err) {
		return nil, fmt.Errorf("keep images: %w", err)
	}
	return archives, nil
}

func makeAll(dir string, busybox []byte) error {
	pause, err := compilePause(dir)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(dir, "pause.tar"), Pause, pauseFiles(pause), v1.Config{Entrypoint: []string{"/pause"}}); err != nil {
		return err
	}
	applets, err := exec.Command(debian.Busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("list busybox applets: %w", err)
	}
	config := v1.Config{Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}}
	return write(filepath.Join(dir, "busybox.tar"), Busybox, busyboxFiles(busybox, strings.Fields(string(applets))), config)
}

func compilePause(dir string) ([]byte, error) {
	source, program := filepath.Join(dir, "pause.c"), filepath.Join(dir, "pause")
	if err := os.WriteFile(source, pauseSource, 0o644); err != nil {
		return nil, fmt.Errorf("write pause: %w", err)
	}
	out, err := exec.Command("gcc", "-Os", "-static", "-s", "-Wall", "-Wextra", "-Werror", "-o", program, source).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("compile pause: %w\n%s", err, out)
	}
	return os.ReadFile(program)
}

// write makes a one-layer image and saves it, with its name, in the format that `docker save` has.
func write(path, ref string, files []file, config v1.Config) error {
	image, err := build(files, config)
	if err != nil {
		return fmt.Errorf("make image %s: %w", ref, err)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return fmt.Errorf("name image: %w", err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		return fmt.Errorf("save image %s: %w", ref, err)
	}
	return nil
}

func key(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintln(sum, len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}
