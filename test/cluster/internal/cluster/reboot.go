// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"aipub.io/aipub/test/cluster/internal/sweep"
)

// generatedCDI is where programs put CDI specs that they make anew after each boot.
const generatedCDI = "/var/run/cdi"

// Reboot simulates a reboot of the node while the control plane stays up. Every
// container and node program ends without notice, what lives in memory is
// wiped, the boot id changes, the hooks run, and the node starts again.
func (c Cluster) Reboot(ctx context.Context) error {
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
	step := c.Report.Step("rebooting node", "about 10 s")
	return step.End(c.reboot(ctx, programs, settings))
}

func (c Cluster) reboot(ctx context.Context, programs Programs, settings Settings) error {
	if err := c.haltNode(); err != nil {
		return err
	}
	if err := errors.Join(sweep.Empty(c.Layout.Run, filepath.Base(c.Layout.Owner())), sweep.Empty(generatedCDI), c.newBootID()); err != nil {
		return err
	}
	if err := c.runHooks(ctx); err != nil {
		return err
	}
	if err := c.start(programs, settings, containerd); err != nil {
		return err
	}
	if err := c.waitContainerd(ctx); err != nil {
		return err
	}
	if err := c.start(programs, settings, kubelet, kubeProxy); err != nil {
		return err
	}
	if err := c.waitNode(ctx, settings.Node); err != nil {
		return err
	}
	return c.waitKubelet(ctx, settings.Node)
}

// runHooks runs the executable files of the hook folder, in name order, while the node is off.
func (c Cluster) runHooks(ctx context.Context) error {
	entries, err := os.ReadDir(c.Layout.RebootHooks())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list reboot hooks: %w", err)
	}
	for _, entry := range entries {
		info, err := os.Stat(filepath.Join(c.Layout.RebootHooks(), entry.Name()))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		cmd := exec.CommandContext(ctx, filepath.Join(c.Layout.RebootHooks(), entry.Name()))
		cmd.Stdout, cmd.Stderr = c.Out, c.Out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("run reboot hook %s: %w", entry.Name(), err)
		}
	}
	return nil
}

// here returns the settings of the cluster that was brought up.
func (c Cluster) here() (Settings, error) {
	settings, err := loadSettings(c.Layout.Settings())
	if err != nil {
		return Settings{}, err
	}
	if settings == nil {
		return Settings{}, fmt.Errorf("find cluster: none in %s; bring it up first", c.Layout.Work)
	}
	return *settings, nil
}
