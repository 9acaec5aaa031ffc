// SPDX-License-Identifier: Apache-2.0

// Package cluster brings a one-node Kubernetes up and down on this machine.
package cluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"aipub.io/aipub/test/cluster/internal/binaries"
	"aipub.io/aipub/test/cluster/internal/debian"
	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/lock"
	"aipub.io/aipub/test/cluster/internal/network"
	"aipub.io/aipub/test/cluster/internal/proc"
	"aipub.io/aipub/test/cluster/internal/progress"
	"aipub.io/aipub/test/cluster/internal/render"
)

// Cluster is the one cluster that this machine can have.
type Cluster struct {
	Layout layout.Layout
	Source string // folder of the Go modules that are built
	Out    io.Writer
	Report progress.Reporter
}

// Programs are the folders of what was built.
type Programs struct{ Kubernetes, Containerd, Helm string }

// Build installs what comes from the distribution and builds the rest, unless
// that was done before.
func (c Cluster) Build() (Programs, error) {
	if err := debian.Ensure(c.Out); err != nil {
		return Programs{}, err
	}
	var dirs []string
	for _, set := range binaries.Sets(c.Source) {
		dir, err := set.Ensure(c.Layout.Cache, c.Report)
		if err != nil {
			return Programs{}, err
		}
		dirs = append(dirs, dir)
	}
	return Programs{Kubernetes: dirs[0], Containerd: dirs[1], Helm: dirs[2]}, nil
}

// Assets returns a folder with the programs that envtest starts (its
// KUBEBUILDER_ASSETS): kube-apiserver, etcd and kubectl; and helm beside them.
func (c Cluster) Assets() (string, error) {
	programs, err := c.Build()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(c.Layout.Cache, "assets-"+strings.TrimPrefix(filepath.Base(programs.Kubernetes), "kubernetes-"))
	return dir, link(dir, map[string]string{
		"kube-apiserver": filepath.Join(programs.Kubernetes, "kube-apiserver"),
		"kubectl":        filepath.Join(programs.Kubernetes, "kubectl"),
		"etcd":           debian.Etcd,
		"helm":           filepath.Join(programs.Helm, "helm"),
	})
}

// linkBin links the commands that people and tests use into the cluster's bin folder.
func (c Cluster) linkBin(programs Programs) error {
	return link(c.Layout.Bin(), map[string]string{
		"kubectl": filepath.Join(programs.Kubernetes, "kubectl"),
		"ctr":     filepath.Join(programs.Containerd, "ctr"),
		"helm":    filepath.Join(programs.Helm, "helm"),
	})
}

// lock keeps out other runs that change the cluster.
func (c Cluster) lock() (lock.Lock, error) {
	if os.Geteuid() != 0 {
		return lock.Lock{}, fmt.Errorf("change cluster: it needs root, for mounts, cgroups and the network")
	}
	return lock.Take(layout.Lock, c.Report)
}

func (c Cluster) processes() proc.Registry { return proc.Registry{Dir: c.Layout.Processes()} }

func (c Cluster) network() network.Network {
	return network.Network{
		Bridge: render.Bridge, NodeIP: render.NodeIP, PodCIDR: render.PodCIDR, ServiceCIDR: render.ServiceCIDR,
		Record: c.Layout.Sysctls(),
	}
}

// link makes dir hold a symbolic link of each name to its target.
func link(dir string, targets map[string]string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	for name, target := range targets {
		path := filepath.Join(dir, name)
		if now, err := os.Readlink(path); err == nil && now == target {
			continue
		}
		temp := fmt.Sprintf("%s.%d", path, os.Getpid())
		if err := os.Symlink(target, temp); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		if err := os.Rename(temp, path); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
	}
	return nil
}
