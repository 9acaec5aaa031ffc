// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// storedImage is an image in containerd, to be read by whoever pushes it.
type storedImage struct {
	ctx      context.Context // of the push
	client   *Client
	raw      []byte
	config   []byte
	manifest v1.Manifest
}

func (c *Client) stored(ctx context.Context, digest string) (*storedImage, error) {
	raw, err := c.document(ctx, digest)
	if err != nil {
		return nil, err
	}
	s := &storedImage{ctx: ctx, client: c, raw: raw}
	if err := json.Unmarshal(raw, &s.manifest); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	s.config, err = c.document(ctx, s.manifest.Config.Digest.String())
	return s, err
}

func (s *storedImage) RawManifest() ([]byte, error)        { return s.raw, nil }
func (s *storedImage) RawConfigFile() ([]byte, error)      { return s.config, nil }
func (s *storedImage) MediaType() (types.MediaType, error) { return s.manifest.MediaType, nil }

func (s *storedImage) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if h == s.manifest.Config.Digest {
		return partial.ConfigLayer(s)
	}
	for _, d := range s.manifest.Layers {
		if d.Digest == h {
			return &storedLayer{s, d}, nil
		}
	}
	return nil, fmt.Errorf("find layer %s: the manifest does not name it", h)
}

type storedLayer struct {
	image *storedImage
	d     v1.Descriptor
}

func (l *storedLayer) Digest() (v1.Hash, error)            { return l.d.Digest, nil }
func (l *storedLayer) Size() (int64, error)                { return l.d.Size, nil }
func (l *storedLayer) MediaType() (types.MediaType, error) { return l.d.MediaType, nil }

// Compressed is called for what the registry does not have.
func (l *storedLayer) Compressed() (io.ReadCloser, error) {
	if missing, err := l.image.client.missing(l.image.ctx, l.d.Digest.String()); err != nil || missing {
		if missing {
			err = &missingLayerError{l.d.Digest.String()}
		}
		return nil, err
	}
	return l.image.client.open(l.image.ctx, l.d.Digest.String())
}

// missingLayerError is one that the node does not have.
type missingLayerError struct{ digest string }

func (m *missingLayerError) Error() string { return "layer " + m.digest + " is not on the node" }
