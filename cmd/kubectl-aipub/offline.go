// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// dumpHint says how the file for --offline is made.
const dumpHint = "make it with kubectl get nodes,nodepartitions,partitionpolicies,resourcesets -o yaml"

// dump lists from objects that were read from a file.
type dump struct {
	objects map[schema.GroupVersionKind][]unstructured.Unstructured
}

// readDump opens the file that --offline names.
func (a *app) readDump() (*dump, error) {
	raw, err := a.read(a.offline)
	if err != nil {
		return nil, fmt.Errorf("read --offline: %w", err)
	}
	d, err := parseDump(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read --offline %s: %w", a.offline, err)
	}
	return d, nil
}

// parseDump reads YAML or JSON documents, each an object or a list of objects.
// Kinds that this plugin does not know are passed over.
func parseDump(in io.Reader) (*dump, error) {
	d := &dump{objects: map[schema.GroupVersionKind][]unstructured.Unstructured{}}
	dec := yaml.NewYAMLOrJSONDecoder(in, 4096)
	count := 0
	for {
		var u unstructured.Unstructured
		err := dec.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("parse document %d: %w", count+1, err)
		}
		if len(u.Object) == 0 {
			continue
		}
		count++
		if err := d.add(u); err != nil {
			return nil, fmt.Errorf("parse document %d: %w", count, err)
		}
	}
	if count == 0 {
		return nil, errors.New("it holds no objects; " + dumpHint)
	}
	return d, nil
}

func (d *dump) add(u unstructured.Unstructured) error {
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return errors.New("an object has no kind or no apiVersion; " + dumpHint)
	}
	if !u.IsList() {
		gvk := u.GroupVersionKind()
		d.objects[gvk] = append(d.objects[gvk], u)
		return nil
	}
	return u.EachListItem(func(o runtime.Object) error {
		item, ok := o.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("a list item is a %T, not an object", o)
		}
		return d.add(*item)
	})
}

// List returns the objects of a kind; none is not an error.
func (d *dump) List(_ context.Context, into runtime.Object) error {
	gvk, _, err := kindOf(into)
	if err != nil {
		return err
	}
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	var all []runtime.Object
	for _, u := range d.objects[gvk] {
		o, err := scheme.New(gvk)
		if err != nil {
			return fmt.Errorf("make %s: %w", gvk.Kind, err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
			return fmt.Errorf("read %s %s: %w", gvk.Kind, u.GetName(), err)
		}
		all = append(all, o)
	}
	return setItems(into, gvk, all)
}
