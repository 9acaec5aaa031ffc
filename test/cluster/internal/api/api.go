// SPDX-License-Identifier: Apache-2.0

// Package api asks the cluster's API server the few things that starting and stopping depend on.
package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ErrNotFound says that the object asked for does not exist.
var ErrNotFound = errors.New("not found")

// Client calls one API server.
type Client struct {
	Server string
	http   *http.Client
}

// New reads the PEM files of the authority and of the caller's certificate and key.
func New(server string, ca []byte, certFile, keyFile string) (*Client, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("read certificate authority: no certificate in it")
	}
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	return &Client{Server: server, http: &http.Client{
		Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second,
	}}, nil
}

// Ready returns nil once the API server reports itself ready.
func (c *Client) Ready(ctx context.Context) error { return c.get(ctx, "/readyz", nil) }

// ServiceAccount returns nil once the namespace has the service account.
func (c *Client) ServiceAccount(ctx context.Context, namespace, name string) error {
	return c.get(ctx, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name, nil)
}

// Node returns what is needed to know of a node.
func (c *Client) Node(ctx context.Context, name string) (Node, error) {
	var node Node
	err := c.get(ctx, "/api/v1/nodes/"+name, &node)
	return node, err
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+path, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("get %s: %w", path, err)
	case response.StatusCode == http.StatusNotFound:
		return fmt.Errorf("get %s: %w", path, ErrNotFound)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("get %s: %s: %.200s", path, response.Status, body)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("get %s: %w", path, err)
	}
	return nil
}
