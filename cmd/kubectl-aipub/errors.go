// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/tools/clientcmd"
)

// readError says what could not be read from which API server.
type readError struct {
	resource, group, host string
	err                   error
}

// Error names the resource and the cause.
func (e *readError) Error() string { return fmt.Sprintf("list %s: %v", e.name(), e.err) }

// Unwrap returns the cause.
func (e *readError) Unwrap() error { return e.err }

func (e *readError) name() string {
	if e.group == "" {
		return e.resource
	}
	return e.resource + "." + e.group
}

// explain turns an error into a sentence that says what to do, where the cause
// is one that a user can do something about.
func explain(err error) error {
	var read *readError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &read):
		return read.explain()
	case errors.Is(err, clientcmd.ErrEmptyConfig):
		return noConfig(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	}
	return err
}

// noConfig is the sentence for no cluster, given what KUBECONFIG holds: a list
// of files, which kubectl passes over in silence where they do not exist.
func noConfig(kubeconfig string) error {
	var missing []string
	for _, f := range filepath.SplitList(kubeconfig) {
		if _, err := os.Stat(f); f != "" && errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, f)
		}
	}
	switch len(missing) {
	case 0:
		return errors.New("no cluster is configured: give --kubeconfig or set KUBECONFIG, or read a file with --offline")
	case 1:
		return fmt.Errorf("no cluster is configured: KUBECONFIG names the file %s, which does not exist; correct it or give --kubeconfig", missing[0])
	}
	return fmt.Errorf("no cluster is configured: KUBECONFIG names the files %s, which do not exist; correct it or give --kubeconfig",
		strings.Join(missing, ", "))
}

func (e *readError) explain() error {
	switch err := e.err; {
	case apierrors.IsNotFound(err) && e.group != "":
		return fmt.Errorf("AIPub is not installed in this cluster: it has no %s; install the chart, or choose another cluster with --context", e.name())
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you are not allowed to list %s: ask an administrator for the verb list on it, or check with kubectl auth can-i list %s", e.name(), e.name())
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server at %s does not accept your credentials: log in again, or choose another user with --user or --context", e.host)
	case isLocalDefault(e.host) && utilnet.IsConnectionRefused(err):
		return noConfig(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	case isNetwork(err):
		return fmt.Errorf("cannot reach the API server at %s: %w; check --kubeconfig and --context, or the network", e.host, innermost(err))
	}
	return e
}

// isLocalDefault reports whether the address is the one that client-go falls
// back to when no kubeconfig names any.
func isLocalDefault(host string) bool { return strings.TrimPrefix(host, "http://") == "localhost:8080" }

func isNetwork(err error) bool {
	var u *url.Error
	return errors.As(err, &u)
}

// innermost is the cause of a failed request without its method and address.
func innermost(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
