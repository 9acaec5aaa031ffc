// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"aipub.io/aipub/reclaim/containerd"
	"aipub.io/aipub/reclaim/save"
)

// saver saves the Workspaces of this node before they are paused.
type saver struct {
	rest  *rest.Config
	saver *save.Saver
	log   logr.Logger
}

// newSaver makes a saver. Without containerd each request is answered, and refused.
func newSaver(rc *rest.Config, c client.Client, o options, log logr.Logger) (*saver, error) {
	config := save.Config{Node: o.node, Log: log.WithName("save")}
	if o.containerd != "" {
		runtime, err := containerd.New(o.containerd)
		if err != nil {
			return nil, fmt.Errorf("save workspaces: %w", err)
		}
		config.Containers, config.Images, config.Recover = runtime, runtime, runtime.Recover
		if o.registry.Repository != "" {
			registry, err := containerd.NewRegistry(runtime, o.registry)
			if err != nil {
				return nil, fmt.Errorf("--save-repository: %w", err)
			}
			config.Registry = registry
		}
	}
	return &saver{rest: rc, saver: save.New(c, config), log: log}, nil
}

// run follows what is to be saved until ctx ends.
func (s *saver) run(ctx context.Context) error {
	for {
		err := save.Run(ctx, s.rest, s.saver)
		if ctx.Err() != nil {
			return nil
		}
		s.log.Error(err, "what is to be saved cannot be followed; trying again")
		if !pause(ctx, clusterRetry) {
			return nil
		}
	}
}
