// SPDX-License-Identifier: Apache-2.0

// Command cluster runs a real one-node Kubernetes on this machine for tests.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"aipub.io/aipub/test/cluster/internal/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, cluster.ErrNotUp) {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if err != nil {
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	c, err := newCluster()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return fmt.Errorf("no verb given\n\n%s", usage())
	}
	v, ok := verbs[args[0]]
	if !ok {
		return fmt.Errorf("verb %q is unknown\n\n%s", args[0], usage())
	}
	return v.run(ctx, c, args[1:])
}
