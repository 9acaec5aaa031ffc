// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the cluster's programs from their Go modules and keeps them in a cache.
package binaries

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Set is what one `go build` makes out of one module.
type Set struct {
	Name     string            // cache and display name
	Source   string            // folder of the module, with its go.mod and go.sum
	Module   string            // dependency whose version is the set's version
	Packages []string          // what to build
	Tags     string            // build tags, space separated
	Stamp    map[string]string // Go variables to set; %v, %M and %m stand for version, major and minor
	Links    map[string]string // further names (link: target) beside the built programs
	Expect   string            // how long it takes, for people who wait
}

// Kubernetes, containerd and Helm, whose modules are folders of root.
// Three modules, as their dependencies do not fit into one.
func Sets(root string) []Set {
	return []Set{kubernetes(root), containerd(root), helm(root)}
}

func kubernetes(root string) Set {
	links := map[string]string{}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet"} {
		links[name] = "kube"
	}
	stamp := map[string]string{}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		stamp[pkg+".gitVersion"] = "%v"
		stamp[pkg+".gitMajor"] = "%M"
		stamp[pkg+".gitMinor"] = "%m"
		stamp[pkg+".gitTreeState"] = "clean"
	}
	return Set{
		Name: "kubernetes", Source: filepath.Join(root, "kube"), Module: "k8s.io/kubernetes",
		Packages: []string{"."}, Stamp: stamp, Links: links, Expect: "12–15 min on 2 cores",
	}
}

func containerd(root string) Set {
	const module = "github.com/containerd/containerd/v2"
	return Set{
		Name: "containerd", Source: filepath.Join(root, "containerd"), Module: module,
		Packages: []string{module + "/cmd/containerd", module + "/cmd/containerd-shim-runc-v2", module + "/cmd/ctr"},
		Tags:     "no_btrfs no_zfs no_devmapper", // they need C libraries or devices that no test has
		Stamp:    map[string]string{module + "/version.Version": "%v"},
		Expect:   "about 4 min on 2 cores",
	}
}

func helm(root string) Set {
	const module = "helm.sh/helm/v4"
	return Set{
		Name: "helm", Source: filepath.Join(root, "helm"), Module: module,
		Packages: []string{module + "/cmd/helm"},
		Stamp:    map[string]string{module + "/internal/version.version": "%v"},
		Expect:   "about 2 min on 2 cores",
	}
}

// Version reads the pinned version of the set's module, such as v1.37.2, from its go.mod.
func (s Set) Version() (string, error) {
	path := filepath.Join(s.Source, "go.mod")
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read version of %s: %w", s.Name, err)
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(strings.TrimPrefix(line, "require "))
		if len(fields) >= 2 && fields[0] == s.Module && strings.HasPrefix(fields[1], "v") {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("read version of %s: %s does not require %s", s.Name, path, s.Module)
}
