// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Archive is an image's archive, to be read as a tar stream.
type Archive struct {
	io.ReadCloser
	OCI  bool   // OCI layout; else the format of `docker save`
	Name string // what the archive says its image is called; may be empty
}

// Open opens an archive, or a folder in OCI layout as the archive it would make.
func Open(file string) (Archive, error) {
	info, err := os.Stat(file)
	if err != nil {
		return Archive{}, fmt.Errorf("open image: %w", err)
	}
	if info.IsDir() {
		return openFolder(file)
	}
	f, err := os.Open(file)
	if err != nil {
		return Archive{}, fmt.Errorf("open image: %w", err)
	}
	archive, err := identify(tar.NewReader(f))
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return Archive{}, fmt.Errorf("open image %s: %w", file, err)
	}
	archive.ReadCloser = f
	return archive, nil
}

func openFolder(dir string) (Archive, error) {
	raw, err := os.ReadFile(path.Join(dir, "index.json"))
	if errors.Is(err, os.ErrNotExist) {
		return Archive{}, fmt.Errorf("open image %s: the folder has no OCI layout: %w; if it is a root file system, say --root", dir, err)
	}
	if err != nil {
		return Archive{}, fmt.Errorf("open image %s: %w", dir, err)
	}
	name, err := indexName(raw)
	if err != nil {
		return Archive{}, fmt.Errorf("open image %s: %w", dir, err)
	}
	reader, writer := io.Pipe()
	go func() {
		w := tar.NewWriter(writer)
		writer.CloseWithError(errors.Join(w.AddFS(os.DirFS(dir)), w.Close()))
	}()
	return Archive{ReadCloser: reader, OCI: true, Name: name}, nil
}

// identify looks for the file that tells the format. An archive with both is
// taken for what `docker save` writes, whose names are the reliable ones.
func identify(r *tar.Reader) (Archive, error) {
	var found Archive
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Archive{}, fmt.Errorf("read archive: %w", err)
		}
		switch path.Clean(header.Name) {
		case "manifest.json":
			return dockerArchive(r)
		case "index.json":
			raw, err := io.ReadAll(r)
			if err != nil {
				return Archive{}, fmt.Errorf("read archive: %w", err)
			}
			if found.Name, err = indexName(raw); err != nil {
				return Archive{}, err
			}
			found.OCI = true
		}
	}
	if !found.OCI {
		return Archive{}, errors.New("neither index.json (OCI) nor manifest.json (docker save) is in the archive")
	}
	return found, nil
}

func dockerArchive(r io.Reader) (Archive, error) {
	var images []struct{ RepoTags []string }
	if err := json.NewDecoder(r).Decode(&images); err != nil {
		return Archive{}, fmt.Errorf("read manifest.json: %w", err)
	}
	var names []string
	for _, image := range images {
		names = append(names, image.RepoTags...)
	}
	return Archive{Name: strings.Join(names, ", ")}, nil
}

// indexName finds the image's name in the annotations that containerd or buildah make.
func indexName(index []byte) (string, error) {
	var parsed struct {
		Manifests []struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(index, &parsed); err != nil {
		return "", fmt.Errorf("read index.json: %w", err)
	}
	for _, key := range []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"} {
		for _, manifest := range parsed.Manifests {
			if ref := manifest.Annotations[key]; strings.Contains(ref, ":") { // a mere tag is no name
				return ref, nil
			}
		}
	}
	return "", nil
}

// FullName completes an image's name as the kubelet does: x becomes docker.io/library/x:latest.
func FullName(ref string) (string, error) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", fmt.Errorf("read image name: %w", err)
	}
	return strings.Replace(parsed.Name(), "index.docker.io/", "docker.io/", 1), nil
}
