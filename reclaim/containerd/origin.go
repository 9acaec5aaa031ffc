// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	containers "github.com/containerd/containerd/api/services/containers/v1"
	images "github.com/containerd/containerd/api/services/images/v1"
	snapshots "github.com/containerd/containerd/api/services/snapshots/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// BaseLayersLabel in an image's configuration says how many of its layers are the base
// over which a container was saved.
const BaseLayersLabel = "aipub.io/base-layers"

// metadataExtension is where the kubelet's side of containerd keeps what it knows.
const metadataExtension = "io.cri-containerd.container.metadata"

// origin is what a container was started from.
type origin struct {
	snapshotter string
	// active is the key of the container's own layer.
	active string
	// manifest is the digest of the image's manifest.
	manifest string
	// config of the image, as it is stored.
	config []byte
	// layers and diffIDs of the base, the lowest first.
	layers  []v1.Descriptor
	diffIDs []v1.Hash
}

// base is the name of the snapshot that has all of the base; empty for no layers.
func (o *origin) base() string { return chainID(o.diffIDs) }

// chainID is the name that the image specification gives to a stack of layers.
func chainID(diffIDs []v1.Hash) string {
	chain := ""
	for i, id := range diffIDs {
		if i == 0 {
			chain = id.String()
			continue
		}
		sum := sha256.Sum256([]byte(chain + " " + id.String()))
		chain = "sha256:" + hex.EncodeToString(sum[:])
	}
	return chain
}

// origin finds the image of a container. Names of images move, so it is only believed
// when its layers are those that the container stands on.
func (c *Client) origin(ctx context.Context, id string) (*origin, error) {
	got, err := c.containers.Get(ctx, &containers.GetContainerRequest{ID: id})
	if notFound(err) {
		return nil, because(api.ReasonContainerGone, "look at container %s: it is gone", id)
	}
	if err != nil {
		return nil, failed("look at container "+id, err)
	}
	o := &origin{snapshotter: got.Container.Snapshotter, active: got.Container.SnapshotKey}
	if o.active == "" {
		return nil, because(api.ReasonNotSupported, "look at container %s: its file system is not a snapshot of containerd's", id)
	}
	parent, err := c.parent(ctx, o.snapshotter, o.active)
	if err != nil {
		return nil, err
	}
	for _, name := range imageNames(got.Container) {
		image, err := c.images.Get(ctx, &images.GetImageRequest{Name: name})
		if notFound(err) {
			continue
		}
		if err != nil {
			return nil, failed("look at image "+name, err)
		}
		found, err := c.match(ctx, o, image.Image.Target.Digest, parent)
		if err != nil {
			return nil, failed("look at image "+name, err)
		}
		if found {
			return o, nil
		}
	}
	return nil, because(api.ReasonRuntimeFailed, "look at container %s: its image %s is not on the node any more; pull it again", id, got.Container.Image)
}

// parent is the snapshot that another one stands on.
func (c *Client) parent(ctx context.Context, snapshotter, key string) (string, error) {
	got, err := c.snapshots.Stat(ctx, &snapshots.StatSnapshotRequest{Snapshotter: snapshotter, Key: key})
	if err != nil {
		return "", failed("look at snapshot "+key, err)
	}
	return got.Info.Parent, nil
}

// imageNames are the names under which a container's image may be found, the one that
// does not move first.
func imageNames(container *containers.Container) []string {
	var known struct {
		Metadata struct{ ImageRef string }
	}
	names := []string{container.Image}
	// What cannot be read is left out: the other name is tried.
	if err := json.Unmarshal(container.Extensions[metadataExtension].GetValue(), &known); err == nil && known.Metadata.ImageRef != "" {
		names = slices.Insert(names, 0, known.Metadata.ImageRef)
	}
	return names
}

// match fills in an origin from the manifest, or from that manifest of an index, whose
// layers make the snapshot.
func (c *Client) match(ctx context.Context, o *origin, digest, snapshot string) (bool, error) {
	raw, err := c.document(ctx, digest)
	if notFound(err) {
		return false, nil // other platforms are not on the node
	}
	if err != nil {
		return false, err
	}
	var document struct {
		Manifests []v1.Descriptor `json:"manifests"` // of an index
		Config    v1.Descriptor   `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return false, fmt.Errorf("read %s: %w", digest, err)
	}
	for _, m := range document.Manifests {
		if found, err := c.match(ctx, o, m.Digest.String(), snapshot); found || err != nil {
			return found, err
		}
	}
	if document.Config.Digest.Hex == "" {
		return false, nil
	}
	config, err := c.document(ctx, document.Config.Digest.String())
	if notFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var parsed v1.ConfigFile
	if err := json.Unmarshal(config, &parsed); err != nil {
		return false, nil // an attestation beside the images, say: it has no configuration
	}
	if len(document.Layers) != len(parsed.RootFS.DiffIDs) || chainID(parsed.RootFS.DiffIDs) != snapshot {
		return false, nil
	}
	n := baseLayers(parsed)
	o.manifest, o.config = digest, config
	o.layers, o.diffIDs = document.Layers[:n], parsed.RootFS.DiffIDs[:n]
	return true, nil
}

// baseLayers is how many layers of an image are its base: what its label says, else all.
func baseLayers(config v1.ConfigFile) int {
	all := len(config.RootFS.DiffIDs)
	n, err := strconv.Atoi(config.Config.Labels[BaseLayersLabel])
	if err != nil || n < 0 || n > all {
		return all
	}
	return n
}

// Measure returns how many bytes a container's file system has over its base, before
// compression: those that it wrote since it started, and those of the saved layer from
// which it started.
func (c *Client) Measure(ctx context.Context, id string) (int64, error) {
	o, err := c.origin(ctx, id)
	if err != nil {
		return 0, err
	}
	var bytes int64
	for key := o.active; key != o.base(); {
		used, err := c.snapshots.Usage(ctx, &snapshots.UsageRequest{Snapshotter: o.snapshotter, Key: key})
		if err != nil {
			return 0, failed("measure snapshot "+key, err)
		}
		bytes += used.Size
		if key, err = c.parent(ctx, o.snapshotter, key); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}
