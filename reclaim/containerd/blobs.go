// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	content "github.com/containerd/containerd/api/services/content/v1"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// maxDocumentBytes bounds manifests and configurations.
const maxDocumentBytes = 8 << 20

// document reads a manifest or configuration.
func (c *Client) document(ctx context.Context, digest string) ([]byte, error) {
	blob, err := c.open(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }() // it ends the stream, no more
	raw, err := io.ReadAll(io.LimitReader(blob, maxDocumentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxDocumentBytes {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", digest, maxDocumentBytes)
	}
	return raw, nil
}

// open reads a blob from its start. Errors are containerd's own.
func (c *Client) open(ctx context.Context, digest string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.content.Read(ctx, &content.ReadContentRequest{Digest: digest})
	if err != nil {
		cancel()
		return nil, err
	}
	return &blob{stream: stream, cancel: cancel}, nil
}

type blob struct {
	stream content.Content_ReadClient
	rest   []byte
	cancel context.CancelFunc
}

func (b *blob) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		got, err := b.stream.Recv()
		if err != nil {
			return 0, err // io.EOF at the end
		}
		b.rest = got.Data
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *blob) Close() error { b.cancel(); return nil }

// write stores a document with its labels and returns its digest. One that is there
// already gets the labels.
func (c *Client) write(ctx context.Context, raw []byte, labels map[string]string) (v1.Hash, error) {
	digest, size, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return v1.Hash{}, err
	}
	stream, err := c.content.Write(ctx)
	if err != nil {
		return v1.Hash{}, err
	}
	err = stream.Send(&content.WriteContentRequest{
		Action: content.WriteAction_COMMIT, Ref: "aipub-" + digest.String(),
		Total: size, Expected: digest.String(), Data: raw, Labels: labels,
	})
	if err != nil && !errors.Is(err, io.EOF) { // the stream's own error is told by Recv
		return v1.Hash{}, err
	}
	_, err = stream.Recv()
	if alreadyExists(err) {
		_, err = c.content.Update(ctx, &content.UpdateRequest{Info: &content.Info{Digest: digest.String(), Labels: labels}})
	}
	return digest, err
}

// missing reports whether containerd does not have a blob.
func (c *Client) missing(ctx context.Context, digest string) (bool, error) {
	_, err := c.content.Info(ctx, &content.InfoRequest{Digest: digest})
	if notFound(err) {
		return true, nil
	}
	return false, err
}
