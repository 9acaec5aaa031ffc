// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"aipub.io/aipub/test/cluster/internal/api"
	"aipub.io/aipub/test/cluster/internal/render"
)

const (
	patience = 2 * time.Minute
	interval = 200 * time.Millisecond
)

// wait calls done until it returns nil. It gives up, with the reason, when
// patience is over or when the component it waits for has ended.
func (c Cluster) wait(ctx context.Context, component, what string, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		if _, gone := c.processes().Running(component); gone != nil {
			return fmt.Errorf("wait until %s: %s has ended; its log %s says last:\n%s", what, component, c.Layout.Log(component), lastLines(c.Layout.Log(component), 8))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w (log: %s)", what, errors.Join(err, ctx.Err()), c.Layout.Log(component))
		case <-time.After(interval):
		}
	}
}

func (c Cluster) waitContainerd(ctx context.Context) error {
	return c.wait(ctx, containerd, "containerd answers", func(context.Context) error {
		conn, err := net.Dial("unix", c.Layout.ContainerdSocket())
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

func (c Cluster) waitAPI(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.wait(ctx, apiserver, "the API server is ready", client.Ready)
}

// waitNode waits until the kubelet of this boot says that the node is ready. A
// node stays Ready in the API for a while after its kubelet has gone, so the
// boot id is compared as well.
func (c Cluster) waitNode(ctx context.Context, name string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	boot, err := os.ReadFile(c.Layout.BootID())
	if err != nil {
		return fmt.Errorf("read boot id: %w", err)
	}
	return c.wait(ctx, kubelet, "node "+name+" is ready", func(ctx context.Context) error {
		node, err := client.Node(ctx, name)
		if err != nil {
			return err
		}
		if node.Status.NodeInfo.BootID != strings.TrimSpace(string(boot)) {
			return errors.New("its kubelet has not reported since the node started")
		}
		if ready, why := node.Ready(); !ready {
			return errors.New(why)
		}
		return nil
	})
}

// waitKubelet waits until the kubelet itself says that it is healthy and knows
// the node's pods again, without which `kubectl exec` finds none. The node's
// condition in the API may still be that of the kubelet before.
func (c Cluster) waitKubelet(ctx context.Context, node string) error {
	if err := c.wait(ctx, kubelet, "the kubelet is healthy", healthy("http://127.0.0.1:10248/healthz")); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.wait(ctx, kubelet, "the kubelet knows its pods", func(ctx context.Context) error {
		bound, err := client.Pods(ctx, node)
		if err != nil {
			return err
		}
		known, err := client.KubeletPods(ctx, node)
		if err != nil {
			return err
		}
		for _, uid := range bound {
			if !slices.Contains(known, uid) {
				return fmt.Errorf("not yet pod %s", uid)
			}
		}
		return nil
	})
}

// healthy asks a component's health endpoint.
func healthy(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}

// waitServiceAccount waits for what every pod needs: a namespace's default service account.
func (c Cluster) waitServiceAccount(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.wait(ctx, controllerManager, "namespace default has its service account", func(ctx context.Context) error {
		return client.ServiceAccount(ctx, "default", "default")
	})
}

func (c Cluster) client() (*api.Client, error) {
	ca, err := os.ReadFile(c.Layout.PKI("ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	return api.New(render.Server, ca, c.Layout.PKI("admin.crt"), c.Layout.PKI("admin.key"))
}

func lastLines(path string, n int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-n):], []byte("\n")))
}
