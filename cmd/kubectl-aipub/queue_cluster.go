// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

func (c *cluster) metadataClient() (metadata.Interface, error) {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(c.config), c.http)
	if err != nil {
		return nil, fmt.Errorf("make client for metadata: %w", err)
	}
	return client, nil
}

// metadata lists all objects of a resource, page by page.
func (c *cluster) metadata(ctx context.Context, resource schema.GroupVersionResource) ([]metav1.ObjectMeta, error) {
	client, err := c.metadataClient()
	if err != nil {
		return nil, err
	}
	var out []metav1.ObjectMeta
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := client.Resource(resource).List(ctx, options)
		if err != nil {
			return nil, &readError{resource: resource.Resource, group: resource.Group, host: c.config.Host, err: err}
		}
		for _, item := range page.Items {
			out = append(out, item.ObjectMeta)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return out, nil
		}
	}
}

// annotate writes annotations of an object, or takes those away whose value is
// nil, if the object still has the resourceVersion given.
func (c *cluster) annotate(ctx context.Context, resource schema.GroupVersionResource, namespace, name, version string, annotations map[string]*string) error {
	client, err := c.metadataClient()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version, "annotations": annotations}})
	if err != nil {
		return fmt.Errorf("make patch: %w", err)
	}
	_, err = client.Resource(resource).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kubectl-aipub"})
	return err
}

// right is something that RBAC grants.
type right struct{ verb, group, resource, namespace, name string }

// String is the right in words: "reorder on priorityqueues.aipub.io vision".
func (r right) String() string {
	s := fmt.Sprintf("%s on %s", r.verb, schema.GroupResource{Group: r.group, Resource: r.resource})
	if r.name != "" {
		s += " " + r.name
	}
	if r.namespace != "" {
		s += " in namespace " + r.namespace
	}
	return s
}

// command asks kubectl whether one has the right.
func (r right) command() string {
	s := fmt.Sprintf("kubectl auth can-i %s %s", r.verb, schema.GroupResource{Group: r.group, Resource: r.resource})
	if r.name != "" {
		s += "/" + r.name
	}
	if r.namespace != "" {
		s += " -n " + r.namespace
	}
	return s
}

// may asks the API server whether the caller has a right.
func (c *cluster) may(ctx context.Context, r right) (bool, error) {
	client, err := c.clientFor(authorizationv1.SchemeGroupVersion)
	if err != nil {
		return false, err
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: r.verb, Group: r.group, Resource: r.resource, Namespace: r.namespace, Name: r.name,
		},
	}}
	if err := client.Post().Resource("selfsubjectaccessreviews").Body(review).Do(ctx).Into(review); err != nil {
		return false, fmt.Errorf("ask whether you may %s: %w", r, err)
	}
	return review.Status.Allowed, nil
}
