// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"aipub.io/aipub/test/cluster/internal/image"
)

// Load imports image archives (what `docker save` or `buildah push …
// oci-archive:` write) or folders in OCI layout for the kubelet's use. An image
// that does not carry its name needs one in ref, which is for a single file.
func (c Cluster) Load(ctx context.Context, ref string, paths []string) error {
	if _, err := c.here(); err != nil {
		return err
	}
	if ref != "" && len(paths) > 1 {
		return fmt.Errorf("load images: one name, %q, for %d files; load them one by one", ref, len(paths))
	}
	for _, path := range paths {
		if err := c.load(ctx, ref, path); err != nil {
			return err
		}
	}
	return nil
}

// LoadRoot makes an image of a root file system and imports it under a name.
func (c Cluster) LoadRoot(ctx context.Context, ref, dir string) error {
	if _, err := c.here(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "image-")
	if err != nil {
		return fmt.Errorf("make image folder: %w", err)
	}
	defer os.RemoveAll(work)
	archive := filepath.Join(work, "image.tar")
	if err := image.FromRoot(archive, ref, dir); err != nil {
		return err
	}
	return c.load(ctx, "", archive)
}

func (c Cluster) load(ctx context.Context, ref, path string) error {
	archive, err := image.Open(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	if ref == "" {
		ref = archive.Name
	}
	args := []string{"images", "import"}
	if archive.OCI {
		if ref == "" {
			return fmt.Errorf("load %s: the archive does not name its image; say --name NAME:TAG", path)
		}
		full, err := image.FullName(ref)
		if err != nil {
			return err
		}
		ref = full
		args = append(args, "--local", "--base-name", full, "--index-name", full)
	} else if ref != archive.Name {
		return fmt.Errorf("load %s: it names its image already; leave out --name", path)
	}
	cmd := c.ctr(ctx, append(args, "-")...)
	cmd.Stdin = archive
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("load %s: %w\n%s", path, err, out)
	}
	fmt.Fprintf(c.Out, "loaded %s from %s\n", ref, path)
	return nil
}

// loadMissing imports those of the basic images that are not there.
func (c Cluster) loadMissing(ctx context.Context, archives []string) error {
	out, err := c.ctr(ctx, "images", "list", "--quiet").Output()
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	there := strings.Fields(string(out))
	if slices.Contains(there, image.Pause) && slices.Contains(there, image.Busybox) {
		return nil
	}
	for _, archive := range archives {
		if err := c.load(ctx, "", archive); err != nil {
			return err
		}
	}
	return nil
}

// ctr calls containerd's client for the images and containers of Kubernetes.
func (c Cluster) ctr(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Layout.Bin(), "ctr"), args...)
	cmd.Env = append(os.Environ(), c.Env()...)
	return cmd
}

// Env is what makes kubectl, helm and ctr talk to this cluster.
func (c Cluster) Env() []string {
	return []string{
		"KUBECONFIG=" + c.Layout.Kubeconfig(),
		"CONTAINERD_ADDRESS=" + c.Layout.ContainerdSocket(),
		"CONTAINERD_NAMESPACE=k8s.io",
	}
}
