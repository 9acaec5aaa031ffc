// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"
)

// Start starts one component if it does not run, and waits until it serves.
func (c Cluster) Start(ctx context.Context, name string) error {
	return c.control(func(settings Settings, programs Programs) error {
		return c.startAndWait(ctx, name, programs, settings)
	})
}

// Stop ends one component: gracefully, or at once and without notice with a zero patience.
func (c Cluster) Stop(name string, patience time.Duration) error {
	return c.control(func(Settings, Programs) error { return c.processes().Stop(name, patience) })
}

// Restart stops and starts one component. Containers go on running.
func (c Cluster) Restart(ctx context.Context, name string) error {
	return c.control(func(settings Settings, programs Programs) error {
		if err := c.processes().Stop(name, grace); err != nil {
			return err
		}
		return c.startAndWait(ctx, name, programs, settings)
	})
}

func (c Cluster) control(do func(Settings, Programs) error) error {
	held, err := c.lock()
	if err != nil {
		return err
	}
	defer held.Release()
	settings, err := c.here()
	if err != nil {
		return err
	}
	programs, err := c.Build()
	if err != nil {
		return err
	}
	return do(settings, programs)
}

func (c Cluster) startAndWait(ctx context.Context, name string, programs Programs, settings Settings) error {
	if err := c.configure(programs, settings); err != nil {
		return err
	}
	if err := c.start(programs, settings, name); err != nil {
		return err
	}
	switch name {
	case containerd:
		return c.waitContainerd(ctx)
	case etcd, apiserver:
		return c.waitAPI(ctx)
	case kubelet:
		return c.waitKubelet(ctx, settings.Node)
	case kubeProxy:
		return c.wait(ctx, name, "kube-proxy is healthy", healthy("http://127.0.0.1:10256/healthz"))
	}
	return nil
}
