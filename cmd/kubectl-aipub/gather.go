// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	api "aipub.io/aipub/api/v1alpha1"
)

// facts are the API objects that a command looks at. The zero value of a list
// means that it was not read.
type facts struct {
	nodes      corev1.NodeList
	partitions api.NodePartitionList
	policies   api.PartitionPolicyList
	sets       api.ResourceSetList
}

// gather fills the lists. A list of must that cannot be read is an error, one of
// may only a note: the command shows less.
func gather(ctx context.Context, from lister, must, may []runtime.Object) (notes []string, err error) {
	for _, list := range must {
		if err := from.List(ctx, list); err != nil {
			return nil, err
		}
	}
	for _, list := range may {
		err := from.List(ctx, list)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("some of what follows is incomplete: %v", explain(err)))
		}
	}
	return notes, nil
}

// source is where the flags say that objects are read from.
func (a *app) source() (lister, error) {
	if a.offline != "" {
		return a.readDump()
	}
	config, err := a.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w; check --kubeconfig and --context, or give --offline", err)
	}
	config.UserAgent = "kubectl-aipub/" + a.version
	return newCluster(config)
}

// note tells the user something beside the output proper.
func (a *app) note(sentences ...string) {
	for _, s := range sentences {
		_, _ = fmt.Fprintln(a.ErrOut, "note:", s) // there is nobody else to tell
	}
}

// read is the content of a file, "-" being standard input.
func (a *app) read(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(file)
}

// show writes what a command has to say, in one piece.
func (a *app) show(b *bytes.Buffer) error {
	if _, err := b.WriteTo(a.Out); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// byName picks the objects with the given names in their order, or all when no
// name is given. A name that is not there is an error made by missing.
func byName[T any](items []T, names []string, nameOf func(T) string, missing func(string) error) ([]T, error) {
	if len(names) == 0 {
		return items, nil
	}
	have := make(map[string]T, len(items))
	for _, it := range items {
		have[nameOf(it)] = it
	}
	var picked []T
	var errs []error
	for _, n := range names {
		it, ok := have[n]
		if !ok {
			errs = append(errs, missing(n))
			continue
		}
		picked = append(picked, it)
	}
	return picked, errors.Join(errs...)
}
