// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	api "aipub.io/aipub/api/v1alpha1"
)

// pageSize is how many objects one request asks for.
const pageSize = 500

// lister fills a list with all objects of its kind.
type lister interface {
	List(ctx context.Context, into runtime.Object) error
}

// kindOf is the kind and the resource that a list is of.
func kindOf(list runtime.Object) (schema.GroupVersionKind, string, error) {
	switch list.(type) {
	case *corev1.NodeList:
		return corev1.SchemeGroupVersion.WithKind("Node"), "nodes", nil
	case *corev1.PodList:
		return corev1.SchemeGroupVersion.WithKind("Pod"), "pods", nil
	case *api.NodePartitionList:
		return api.GroupVersion.WithKind("NodePartition"), "nodepartitions", nil
	case *api.PartitionPolicyList:
		return api.GroupVersion.WithKind("PartitionPolicy"), "partitionpolicies", nil
	case *api.ResourceSetList:
		return api.GroupVersion.WithKind("ResourceSet"), "resourcesets", nil
	}
	return queueKindOf(list)
}

// newScheme knows the kinds that this plugin reads.
func newScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := corev1.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register core kinds: %w", err)
	}
	if err := api.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register AIPub kinds: %w", err)
	}
	if err := addQueueKinds(s); err != nil {
		return nil, err
	}
	return s, nil
}

// cluster lists from an API server, page by page.
type cluster struct {
	config *rest.Config
	http   *http.Client
	codecs serializer.CodecFactory
	params runtime.ParameterCodec
}

func newCluster(config *rest.Config) (*cluster, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &cluster{
		config: config, http: client,
		codecs: serializer.NewCodecFactory(scheme),
		params: metav1.ParameterCodec,
	}, nil
}

// List reads all pages. It returns a *readError that names what it read.
func (c *cluster) List(ctx context.Context, into runtime.Object) error {
	return c.list(ctx, into, "", metav1.ListOptions{})
}

// list is List of what options select, in a namespace or, with "", everywhere.
func (c *cluster) list(ctx context.Context, into runtime.Object, namespace string, options metav1.ListOptions) error {
	kind, resource, err := kindOf(into)
	if err != nil {
		return err
	}
	client, err := c.clientFor(kind.GroupVersion())
	if err != nil {
		return err
	}
	var all []runtime.Object
	options.Limit = pageSize
	for {
		page := into.DeepCopyObject()
		err := client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(resource).VersionedParams(&options, c.params).Do(ctx).Into(page)
		if err != nil {
			return &readError{resource: resource, group: kind.Group, host: c.config.Host, err: err}
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return fmt.Errorf("read %s: %w", resource, err)
		}
		all = append(all, items...)
		m, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("read %s: %w", resource, err)
		}
		if options.Continue = m.GetContinue(); options.Continue == "" {
			return setItems(into, kind, all)
		}
	}
}

func (c *cluster) clientFor(gv schema.GroupVersion) (*rest.RESTClient, error) {
	config := rest.CopyConfig(c.config)
	config.GroupVersion = &gv
	config.NegotiatedSerializer = c.codecs.WithoutConversion()
	if gv.Group != api.GroupVersion.Group { // our own kinds, as all of CRDs, have no protobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", gv, err)
	}
	return client, nil
}

// setItems puts objects into a list, each with its kind, which typed lists from
// an API server leave out and printed objects need.
func setItems(list runtime.Object, kind schema.GroupVersionKind, items []runtime.Object) error {
	for _, o := range items {
		o.GetObjectKind().SetGroupVersionKind(kind)
	}
	if items == nil {
		items = []runtime.Object{}
	}
	if err := meta.SetList(list, items); err != nil {
		return fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	return nil
}
