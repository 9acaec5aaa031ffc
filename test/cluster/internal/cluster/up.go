// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"aipub.io/aipub/test/cluster/internal/image"
	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/sweep"
	"golang.org/x/sys/unix"
)

// Up brings the cluster up, or what is missing of it. With want nil it keeps
// the settings of the cluster that is up, or takes the default ones.
func (c Cluster) Up(ctx context.Context, want *Settings) error {
	held, err := c.lock()
	if err != nil {
		return err
	}
	defer held.Release()
	settings, err := c.settle(want)
	if err != nil {
		return err
	}
	programs, err := c.Build()
	if err != nil {
		return err
	}
	if err := c.prepare(programs, settings); err != nil {
		return err
	}
	step := c.Report.Step("starting cluster", "about 30 s")
	return step.End(c.startAll(ctx, programs, settings))
}

// settle decides on the settings, and refuses what contradicts a cluster that is there.
func (c Cluster) settle(want *Settings) (Settings, error) {
	if _, err := c.claimed(); err != nil {
		return Settings{}, err
	}
	now, err := loadSettings(c.Layout.Settings())
	if err != nil {
		return Settings{}, err
	}
	if now == nil {
		if err := c.checkFree(); err != nil {
			return Settings{}, err
		}
	}
	switch {
	case now == nil && want == nil:
		return Default(), nil
	case now == nil:
		return *want, want.Validate()
	case want != nil && !want.equal(*now):
		return Settings{}, fmt.Errorf("start cluster: it is there with other settings (%s); take it down first", c.Layout.Settings())
	}
	return *now, nil
}

// prepare makes all that the programs find when they start: folders, files,
// the network and the kubelet's folder.
func (c Cluster) prepare(programs Programs, settings Settings) error {
	if err := c.claim(settings); err != nil {
		return err
	}
	if err := c.Layout.Make(); err != nil {
		return err
	}
	if err := c.configure(programs, settings); err != nil {
		return err
	}
	if err := c.linkBin(programs); err != nil {
		return err
	}
	if err := c.network().Up(); err != nil {
		return err
	}
	return c.mountKubelet()
}

// mountKubelet shows the kubelet's folder where the kubelet and its plugins
// expect it. It is shared, so that volumes mounted in the kubelet's namespace
// are seen by containerd in the machine's, and the other way round.
func (c Cluster) mountKubelet() error {
	mounted, err := sweep.Mounted(layout.KubeletDir)
	if err != nil || mounted {
		return err
	}
	if err := os.MkdirAll(layout.KubeletDir, 0o755); err != nil {
		return fmt.Errorf("make kubelet folder: %w", err)
	}
	if err := unix.Mount(c.Layout.Kubelet(), layout.KubeletDir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount kubelet folder: %w", err)
	}
	if err := unix.Mount("", layout.KubeletDir, "", unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share kubelet folder: %w", err)
	}
	return nil
}

func (c Cluster) startAll(ctx context.Context, programs Programs, settings Settings) error {
	archives, err := image.Ensure(c.Layout.Cache)
	if err != nil {
		return err
	}
	if err := c.start(programs, settings, etcd, apiserver, containerd); err != nil {
		return err
	}
	if err := c.waitContainerd(ctx); err != nil {
		return err
	}
	if err := c.loadMissing(ctx, archives); err != nil {
		return err
	}
	if err := c.waitAPI(ctx); err != nil {
		return err
	}
	if err := c.start(programs, settings, controllerManager, scheduler, kubelet, kubeProxy); err != nil {
		return err
	}
	if err := c.waitNode(ctx, settings.Node); err != nil {
		return err
	}
	if err := c.waitServiceAccount(ctx); err != nil {
		return err
	}
	return c.wait(ctx, kubeProxy, "kube-proxy is healthy", healthy("http://127.0.0.1:10256/healthz"))
}

func (c Cluster) start(programs Programs, settings Settings, names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(c.Layout.Log(name)), 0o755); err != nil {
			return fmt.Errorf("make log folder: %w", err)
		}
		if err := c.processes().Start(c.spec(name, programs, settings)); err != nil {
			return err
		}
	}
	return nil
}
