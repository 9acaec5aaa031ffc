// SPDX-License-Identifier: Apache-2.0

package containerd

import (
	"context"
	"strings"

	images "github.com/containerd/containerd/api/services/images/v1"
)

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
