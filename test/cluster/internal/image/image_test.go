// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

func TestSameFilesMakeTheSameImage(t *testing.T) {
	files := busyboxFiles([]byte("program"), []string{"sh", "busybox"})
	digest := func() v1.Hash {
		image, err := build(files, v1.Config{Cmd: []string{"/bin/sh"}})
		if err != nil {
			t.Fatal(err)
		}
		hash, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	if first, second := digest(), digest(); first != second {
		t.Errorf("digests %s and %s", first, second)
	}
}

func TestOpenKnowsFormatsAndNames(t *testing.T) {
	image, err := build(pauseFiles([]byte("x")), v1.Config{})
	if err != nil {
		t.Fatal(err)
	}
	docker := filepath.Join(t.TempDir(), "docker.tar")
	if err := write(docker, Pause, pauseFiles([]byte("x")), v1.Config{}); err != nil {
		t.Fatal(err)
	}
	oci := func(key, name string) string {
		dir := t.TempDir()
		path, err := layout.Write(dir, empty.Index)
		if err != nil {
			t.Fatal(err)
		}
		if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{key: name})); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	const containerd, standard = "io.containerd.image.name", "org.opencontainers.image.ref.name"
	for name, test := range map[string]struct {
		path, want string
		oci        bool
	}{
		"docker save":           {docker, Pause, false},
		"folder by containerd":  {oci(containerd, "example.org/a:1"), "example.org/a:1", true},
		"archive by buildah":    {pack1(t, oci(standard, "example.org/b:2")), "example.org/b:2", true},
		"archive, only the tag": {pack1(t, oci(standard, "3")), "", true},
	} {
		archive, err := Open(test.path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if archive.Name != test.want || archive.OCI != test.oci {
			t.Errorf("%s: got %q, OCI %v", name, archive.Name, archive.OCI)
		}
		if _, err := tar.NewReader(archive).Next(); err != nil {
			t.Errorf("%s: the stream is no tar: %v", name, err)
		}
		archive.Close()
	}
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, bytes.Repeat([]byte("no tar\n"), 200), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir, filepath.Join(dir, "none")} {
		if _, err := Open(path); err == nil {
			t.Errorf("%s was taken for an image", path)
		}
	}
}

func TestFullName(t *testing.T) {
	for ref, want := range map[string]string{
		"x": "docker.io/library/x:latest", "a/b:1": "docker.io/a/b:1", "aipub.test/busybox:1": "aipub.test/busybox:1",
	} {
		if got, err := FullName(ref); err != nil || got != want {
			t.Errorf("FullName(%q) = %q, %v", ref, got, err)
		}
	}
	if _, err := FullName("UPPER:case:twice"); err == nil {
		t.Error("nonsense is taken for a name")
	}
}

// pack1 makes an archive of a folder.
func pack1(t *testing.T, dir string) string {
	t.Helper()
	archive, err := openFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
