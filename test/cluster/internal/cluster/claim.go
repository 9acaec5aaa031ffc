// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aipub.io/aipub/test/cluster/internal/replace"
	"aipub.io/aipub/test/cluster/internal/sweep"
)

// A work folder is a cluster's if it has the settings file, and the machine is
// a cluster's if the run folder names its work folder. Only what is claimed is
// ever emptied or killed.

// claim marks folder and machine, before anything else is made in them. The
// logs of the cluster before go.
func (c Cluster) claim(settings Settings) error {
	if now, err := loadSettings(c.Layout.Settings()); err == nil && now == nil {
		if err := os.RemoveAll(filepath.Dir(c.Layout.Log(kubelet))); err != nil {
			return fmt.Errorf("remove old logs: %w", err)
		}
	}
	for _, dir := range []string{c.Layout.Work, c.Layout.Run} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	if err := settings.save(c.Layout.Settings()); err != nil {
		return err
	}
	return replace.File(c.Layout.Owner(), []byte(c.Layout.Work+"\n"), 0o644)
}

// claimed reports whether this work folder has a cluster. It is an error if
// another work folder's cluster has the machine.
func (c Cluster) claimed() (bool, error) {
	owner, err := os.ReadFile(c.Layout.Owner())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("find cluster: %w", err)
	}
	if other := strings.TrimSpace(string(owner)); other != "" && other != c.Layout.Work {
		return false, fmt.Errorf("find cluster: this machine's is that of %s; take it down first (AIPUB_CLUSTER_DIR=%s … down)", other, other)
	}
	settings, err := loadSettings(c.Layout.Settings())
	return settings != nil, err
}

// checkFree refuses a machine where another kubelet has pods, and a work folder
// with files of someone else, which `down` would delete.
func (c Cluster) checkFree() error {
	for _, name := range []string{sweep.Pods, sweep.Pods + ".slice"} {
		there, err := sweep.GroupExists(name)
		if err != nil {
			return err
		}
		if there {
			return fmt.Errorf("start cluster: this machine has a kubelet of its own (there is a cgroup %s)", name)
		}
	}
	entries, err := os.ReadDir(c.Layout.Work)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("look into work folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != "logs" {
			return fmt.Errorf("start cluster: %s holds %s, which is no cluster's; choose an empty folder as AIPUB_CLUSTER_DIR", c.Layout.Work, entry.Name())
		}
	}
	return nil
}
