// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"aipub.io/aipub/test/cluster/internal/cluster"
	"aipub.io/aipub/test/cluster/internal/layout"
	"aipub.io/aipub/test/cluster/internal/progress"
)

// newCluster keeps stdout for what scripts read; all else goes to stderr.
func newCluster() (cluster.Cluster, error) {
	paths, err := layout.FromEnv(os.Getenv)
	if err != nil {
		return cluster.Cluster{}, err
	}
	source, err := sourceDir()
	if err != nil {
		return cluster.Cluster{}, err
	}
	return cluster.Cluster{
		Layout: paths,
		Source: source,
		Out:    os.Stderr,
		Report: progress.Reporter{Out: os.Stderr, Every: 20 * time.Second, Now: time.Now},
	}, nil
}

// sourceDir finds this module's folder, whose modules are built, from any
// working folder: AIPUB_CLUSTER_SOURCE, or where this file was compiled.
func sourceDir() (string, error) {
	dir := os.Getenv("AIPUB_CLUSTER_SOURCE")
	if dir == "" {
		_, file, _, _ := runtime.Caller(0)
		dir = filepath.Dir(file)
	}
	if _, err := os.Stat(filepath.Join(dir, "kube", "go.mod")); err != nil {
		return "", fmt.Errorf("find sources: %q is not the folder test/cluster; set AIPUB_CLUSTER_SOURCE to it", dir)
	}
	return dir, nil
}
