// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"io"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// file is an entry of an image's layer: a folder, a link (with target) or a file.
type file struct {
	path    string
	mode    int64
	folder  bool
	target  string
	content []byte
}

func pauseFiles(pause []byte) []file {
	return []file{{path: "pause", mode: 0o755, content: pause}}
}

func busyboxFiles(busybox []byte, applets []string) []file {
	files := []file{
		{path: "bin", mode: 0o755, folder: true},
		{path: "etc", mode: 0o755, folder: true},
		{path: "root", mode: 0o700, folder: true},
		{path: "tmp", mode: 0o1777, folder: true},
		{path: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")},
		{path: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnogroup:x:65534:\n")},
		{path: "bin/busybox", mode: 0o755, content: busybox},
	}
	for _, applet := range applets {
		if applet != "busybox" {
			files = append(files, file{path: "bin/" + applet, target: "busybox"})
		}
	}
	return files
}

func build(files []file, config v1.Config) (v1.Image, error) {
	raw, err := pack(files)
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	layer, err := tarball.LayerFromOpener(open)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, configFile(image, config))
}

func configFile(image v1.Image, config v1.Config) *v1.ConfigFile {
	full, err := image.ConfigFile()
	if err != nil {
		full = &v1.ConfigFile{}
	}
	full = full.DeepCopy()
	full.OS, full.Architecture, full.Config = "linux", runtime.GOARCH, config
	return full
}

// pack leaves out times, so that the same files make the same image.
func pack(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		switch {
		case f.folder:
			header.Typeflag = tar.TypeDir
		case f.target != "":
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.target, 0o777
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
