// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	images "github.com/containerd/containerd/api/services/images/v1"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	api "aipub.io/aipub/api/v1alpha1"
)

// RegistryOptions say where images are pushed to, and as whom.
type RegistryOptions struct {
	// Repository is a registry's host, its port if any, and a path in it.
	Repository string
	// Insecure allows plain HTTP and certificates that nobody vouches for.
	Insecure bool
	// DockerConfig is a file as `docker login` writes it; it is read each time, so
	// that it can change. Empty for nobody in particular.
	DockerConfig string
}

// Registry is where a node's images are pushed to.
type Registry struct {
	client  *Client
	options RegistryOptions
	http    http.RoundTripper
}

// NewRegistry checks the options. It does not connect.
func NewRegistry(client *Client, options RegistryOptions) (*Registry, error) {
	r := &Registry{client: client, options: options, http: remote.DefaultTransport}
	_, err := name.NewRepository(options.Repository, r.names()...)
	if err == nil && strings.Contains(options.Repository, "://") {
		err = errors.New("it has a scheme")
	}
	if err != nil {
		return nil, fmt.Errorf("use registry %q: %w; give HOST[:PORT]/PATH, in lower case", options.Repository, err)
	}
	if base, ok := remote.DefaultTransport.(*http.Transport); ok && options.Insecure {
		t := base.Clone()
		t.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
		r.http = t
	}
	return r, nil
}

func (r *Registry) names() []name.Option {
	options := []name.Option{name.StrictValidation}
	if r.options.Insecure {
		options = append(options, name.Insecure)
	}
	return options
}

// Push brings an image of the node to PATH:TAG below the repository, and returns it by
// digest. What the registry has of it is not sent again. The error's reason is
// RegistryFailed; it is RuntimeFailed when a layer of the base that the registry does not
// have is not on the node either, because containerd drops layers that it has unpacked.
func (r *Registry) Push(ctx context.Context, image, as string) (string, error) {
	ref, err := name.NewTag(r.options.Repository+"/"+as, r.names()...)
	if err != nil {
		return "", because(api.ReasonRegistryFailed, "push to %s/%s: %w", r.options.Repository, as, err)
	}
	got, err := r.client.images.Get(ctx, &images.GetImageRequest{Name: image})
	if err != nil {
		return "", failed("look at image "+image, err)
	}
	stored, err := r.client.stored(ctx, got.Image.Target.Digest)
	if err != nil {
		return "", failed("read image "+image, err)
	}
	pushed, err := partial.CompressedToImage(stored)
	if err != nil {
		return "", failed("read image "+image, err)
	}
	options, err := r.remote(ctx, ref.Context())
	if err != nil {
		return "", err
	}
	if err := remote.Write(ref, pushed, options...); err != nil {
		return "", pushFailed(ref, err)
	}
	return ref.Context().Digest(got.Image.Target.Digest).String(), nil
}

// Delete removes an image by digest from the registry. One that is not there is no
// error; registries that allow no deletion are.
func (r *Registry) Delete(ctx context.Context, digest string) error {
	ref, err := name.NewDigest(digest, r.names()...)
	if err != nil {
		return because(api.ReasonRegistryFailed, "remove %s: %w", digest, err)
	}
	options, err := r.remote(ctx, ref.Context())
	if err != nil {
		return err
	}
	err = remote.Delete(ref, options...)
	if answer := (*transport.Error)(nil); errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return because(api.ReasonRegistryFailed, "remove %s: %w", digest, err)
	}
	return nil
}

func (r *Registry) remote(ctx context.Context, repository name.Repository) ([]remote.Option, error) {
	who, err := login(r.options.DockerConfig, repository)
	if err != nil {
		return nil, err
	}
	return []remote.Option{remote.WithContext(ctx), remote.WithTransport(r.http), remote.WithAuth(who), remote.WithUserAgent("aipub-node")}, nil
}

func pushFailed(ref name.Tag, err error) error {
	if missing := (*missingLayerError)(nil); errors.As(err, &missing) {
		return because(api.ReasonRuntimeFailed, "push %s: layer %s of the base image is neither in the registry nor on the node any more; "+
			"set discard_unpacked_layers = false for containerd, or push the base image to %s", ref, missing.digest, ref.Context())
	}
	return because(api.ReasonRegistryFailed, "push %s: %w", ref, err)
}
