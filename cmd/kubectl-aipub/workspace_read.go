// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// objects reads and writes objects of a kind in a namespace, or reads them in all with "".
func (a *app) objects(c *cluster, kind boundKind, namespace string) (dynamic.ResourceInterface, error) {
	config := rest.CopyConfig(c.config)
	config.WarningHandler = rest.NewWarningWriter(a.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	client, err := dynamic.NewForConfigAndClient(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("make client for %s: %w", kind.resource, err)
	}
	return client.Resource(kind.gvr()).Namespace(namespace), nil
}

// listKind returns all objects of a kind in a namespace, or everywhere with "".
func (a *app) listKind(ctx context.Context, from lister, kind boundKind, namespace string) ([]unstructured.Unstructured, error) {
	return a.listSelected(ctx, from, kind, namespace, metav1.ListOptions{})
}

// listSelected is listKind of what options select; a file has no such options.
func (a *app) listSelected(ctx context.Context, from lister, kind boundKind, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	if d, ok := from.(*dump); ok {
		return slices.DeleteFunc(slices.Clone(d.objects[kind.GroupVersionKind]), func(u unstructured.Unstructured) bool {
			return namespace != "" && u.GetNamespace() != namespace
		}), nil
	}
	c, ok := from.(*cluster)
	if !ok {
		return nil, fmt.Errorf("list %s: there is nothing to read it from", kind.resource)
	}
	client, err := a.objects(c, kind, namespace)
	if err != nil {
		return nil, err
	}
	var out []unstructured.Unstructured
	options.Limit = pageSize
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return nil, &readError{resource: kind.resource, group: kind.Group, host: c.config.Host, err: err}
		}
		out = append(out, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}

// readBound returns all that ReclaimPolicies bind in a namespace, or everywhere with "",
// in order. Workspaces must be readable; the notes say what else is not.
func (a *app) readBound(ctx context.Context, from lister, namespace string) (all []*bound, notes []string, err error) {
	for _, kind := range boundKinds {
		items, err := a.listKind(ctx, from, kind, namespace)
		switch {
		case err == nil:
		case kind.isWorkspace() || ctx.Err() != nil:
			return nil, nil, err
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err) && !a.serves(from, kind): // as of Notebooks, where there is no Kubeflow
		default:
			notes = append(notes, fmt.Sprintf("some of what follows is incomplete: %v", explain(err)))
		}
		for i := range items {
			b, err := newBound(kind, &items[i], a.now())
			if err != nil {
				notes = append(notes, err.Error())
				continue
			}
			if b.isBound() {
				all = append(all, b)
			}
		}
	}
	slices.SortFunc(all, func(x, y *bound) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Kind, y.Kind))
	})
	return all, notes, nil
}

// serves reports whether an API server has a kind: to who has no right to it, it answers
// the same whether it has or not.
func (a *app) serves(from lister, kind boundKind) bool {
	c, online := from.(*cluster)
	if !online {
		return true
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return true
	}
	_, err = client.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	return !apierrors.IsNotFound(err)
}

// findBound reads the one that was typed. It refuses what no ReclaimPolicy binds.
func (a *app) findBound(ctx context.Context, from lister, text string) (*bound, error) {
	r, err := parseBound(text, a.namespace())
	if err != nil {
		return nil, err
	}
	b, err := a.getBound(ctx, from, r)
	if apierrors.IsNotFound(err) {
		return nil, a.unknownBound(ctx, from, r)
	}
	if err != nil {
		return nil, err
	}
	if !b.isBound() {
		return nil, fmt.Errorf("%s is not bound by ReclaimPolicies: %s", r, notBoundWords(b))
	}
	return b, nil
}

// getBound reads an object. The error is NotFound where there is none.
func (a *app) getBound(ctx context.Context, from lister, r boundRef) (*bound, error) {
	c, online := from.(*cluster)
	if !online {
		items, err := a.listKind(ctx, from, r.kind, r.namespace)
		if err != nil {
			return nil, err
		}
		for i := range items {
			if items[i].GetName() == r.name {
				return newBound(r.kind, &items[i], a.now())
			}
		}
		return nil, apierrors.NewNotFound(r.kind.gvr().GroupResource(), r.name)
	}
	client, err := a.objects(c, r.kind, r.namespace)
	if err != nil {
		return nil, err
	}
	u, err := client.Get(ctx, r.name, metav1.GetOptions{})
	switch {
	case err == nil:
		return newBound(r.kind, u, a.now())
	case apierrors.IsNotFound(err):
		return nil, err
	case apierrors.IsForbidden(err):
		return nil, lacks([]right{{verb: "get", group: r.kind.Group, resource: r.kind.resource, namespace: r.namespace, name: r.name}})
	}
	return nil, &readError{resource: r.kind.resource, group: r.kind.Group, host: c.config.Host, err: err}
}

// unknownBound says that there is no such thing, and what may have been meant.
func (a *app) unknownBound(ctx context.Context, from lister, r boundRef) error {
	all, _, err := a.readBound(ctx, from, r.namespace)
	if err != nil {
		return err
	}
	var known []string
	for _, b := range all {
		if b.Name == r.name {
			return fmt.Errorf("there is no %s %q in namespace %s; did you mean %q?", r.kind.word(), r.name, r.namespace, b.ref.typed())
		}
		known = append(known, b.ref.typed())
	}
	return fmt.Errorf("there is no %s %q in namespace %s%s; kubectl aipub workspace list -A shows them all",
		r.kind.word(), r.name, r.namespace, didYouMean(r.typed(), known))
}
