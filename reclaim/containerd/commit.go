// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	content "github.com/containerd/containerd/api/services/content/v1"
	diff "github.com/containerd/containerd/api/services/diff/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	leases "github.com/containerd/containerd/api/services/leases/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	ggcr "github.com/google/go-containerregistry/pkg/v1/types"

	api "aipub.io/aipub/api/v1alpha1"
)

// uncompressedLabel is where containerd notes what a compressed layer unpacks to.
const uncompressedLabel = "containerd.io/uncompressed"

// Commit saves the file system of a container under an image's full name, and replaces
// an image of that name. It returns the digest of its manifest, and the size of its one
// layer over the base, compressed. The container is frozen meanwhile, and goes on in any case when
// Commit returns; after an error nothing of the image is left. Should this process be
// killed, [Client.Recover] does both.
func (c *Client) Commit(ctx context.Context, id, image string) (digest string, layerBytes int64, err error) {
	if _, err := name.NewTag(image, name.StrictValidation); err != nil {
		return "", 0, because(api.ReasonRuntimeFailed, "commit container %s: image name %q: %w", id, image, err)
	}
	o, err := c.origin(ctx, id)
	if err != nil {
		return "", 0, err
	}
	if err := c.begin(ctx, id, o.snapshotter); err != nil {
		return "", 0, err
	}
	defer func() {
		if err = errors.Join(err, c.release(ctx, id, o.snapshotter)); err != nil {
			err = errors.Join(err, c.Remove(context.WithoutCancel(ctx), image))
		}
	}()
	leased := withLease(ctx, leaseOf(id))
	// The base must not go while the new image does not refer to it yet.
	_, err = c.leases.AddResource(ctx, &leases.AddResourceRequest{ID: leaseOf(id), Resource: &leases.Resource{Type: "content", ID: o.manifest}})
	if err != nil {
		return "", 0, failed("keep the base", err)
	}
	l, err := c.layer(leased, id, o)
	if err != nil {
		return "", 0, err
	}
	digest, err = c.record(leased, o, l, image)
	return digest, l.Size, err
}

// layer is one that was written.
type layer struct {
	v1.Descriptor
	diffID v1.Hash
}

// layer writes the difference of a container to its base.
func (c *Client) layer(ctx context.Context, id string, o *origin) (layer, error) {
	lower, err := c.snapshots.View(ctx, &snapshots.ViewSnapshotRequest{Snapshotter: o.snapshotter, Key: leaseOf(id), Parent: o.base()})
	if err != nil {
		return layer{}, failed("look at the base", err)
	}
	upper, err := c.snapshots.Mounts(ctx, &snapshots.MountsRequest{Snapshotter: o.snapshotter, Key: o.active})
	if err != nil {
		return layer{}, failed("look at the file system", err)
	}
	if remapped(upper.Mounts) {
		return layer{}, because(api.ReasonNotSupported, "save container %s: it is in a user namespace (hostUsers: false), "+
			"its files would come back with other owners", id)
	}
	if err := c.freeze(ctx, id); err != nil {
		return layer{}, err // release thaws, should it be half frozen
	}
	// A name of its own: containerd may still be at the one of an agent that was killed.
	ref := fmt.Sprintf("%s-%d", leaseOf(id), time.Now().UnixNano())
	got, err := c.diff.Diff(ctx, &diff.DiffRequest{
		Left: lower.Mounts, Right: upper.Mounts, MediaType: string(ggcr.OCILayer), Ref: ref,
	})
	// It need not wait for the rest.
	thaw, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	if err := errors.Join(err, c.thaw(thaw, id)); err != nil {
		return layer{}, failed("write layer", err)
	}
	return c.written(ctx, got.Diff)
}

// remapped reports whether a file system shows other owners than it stores.
func remapped(mounts []*types.Mount) bool {
	for _, m := range mounts {
		for _, option := range m.Options {
			if strings.HasPrefix(option, "uidmap=") {
				return true
			}
		}
	}
	return false
}

// written reads what containerd noted of a layer.
func (c *Client) written(ctx context.Context, d *types.Descriptor) (layer, error) {
	digest, err := v1.NewHash(d.Digest)
	if err != nil {
		return layer{}, failed("read digest of the layer", err)
	}
	info, err := c.content.Info(ctx, &content.InfoRequest{Digest: d.Digest})
	if err != nil {
		return layer{}, failed("look at the layer", err)
	}
	diffID, err := v1.NewHash(info.Info.Labels[uncompressedLabel])
	if err != nil {
		return layer{}, failed("read label "+uncompressedLabel+" of the layer", err)
	}
	return layer{v1.Descriptor{MediaType: ggcr.OCILayer, Digest: digest, Size: d.Size}, diffID}, nil
}

// record writes configuration, manifest and name of an image, each referring to what it
// needs, so that containerd keeps all of it for as long as the name is there; it returns
// the manifest's digest.
func (c *Client) record(ctx context.Context, o *origin, l layer, image string) (string, error) {
	config, err := newConfig(o, l, image, time.Now())
	if err != nil {
		return "", failed("make configuration", err)
	}
	// The base's snapshots are kept too: its layers may have been dropped when they
	// were unpacked.
	labels := map[string]string{}
	if base := o.base(); base != "" {
		labels["containerd.io/gc.ref.snapshot."+o.snapshotter] = base
	}
	digest, err := c.write(ctx, config, labels)
	if err != nil {
		return "", failed("write configuration", err)
	}
	manifest, labels, err := newManifest(o, l, v1.Descriptor{MediaType: ggcr.OCIConfigJSON, Digest: digest, Size: int64(len(config))})
	if err != nil {
		return "", failed("make manifest", err)
	}
	digest, err = c.write(ctx, manifest, labels)
	if err != nil {
		return "", failed("write manifest", err)
	}
	err = c.name(ctx, &images.Image{
		Name: image,
		// The kubelet sees it (managed), and never removes it to make room (pinned).
		Labels: map[string]string{"io.cri-containerd.image": "managed", "io.cri-containerd.pinned": "pinned"},
		Target: &types.Descriptor{MediaType: string(ggcr.OCIManifestSchema1), Digest: digest.String(), Size: int64(len(manifest))},
	})
	if err != nil {
		return "", failed("name image "+image, err)
	}
	return digest.String(), nil
}

// name makes an image known under its name, in place of another of that name.
func (c *Client) name(ctx context.Context, image *images.Image) error {
	_, err := c.images.Create(ctx, &images.CreateImageRequest{Image: image})
	if alreadyExists(err) {
		_, err = c.images.Update(ctx, &images.UpdateImageRequest{Image: image})
	}
	return err
}

// Remove drops an image and, but for what others use, its layers. One that is not there
// is no error. Containers that run from it go on.
func (c *Client) Remove(ctx context.Context, image string) error {
	_, err := c.images.Delete(ctx, &images.DeleteImageRequest{Name: image, Sync: true})
	if err != nil && !notFound(err) {
		return failed("remove image "+image, err)
	}
	return nil
}

// List returns the names of the images that begin with a prefix.
func (c *Client) List(ctx context.Context, prefix string) ([]string, error) {
	list, err := c.images.List(ctx, &images.ListImagesRequest{})
	if err != nil {
		return nil, failed("list images", err)
	}
	var names []string
	for _, image := range list.Images {
		if strings.HasPrefix(image.Name, prefix) {
			names = append(names, image.Name)
		}
	}
	return names, nil
}
