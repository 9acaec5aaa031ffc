// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// version is set when the binary is linked.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := newApp(streams, version, time.Now).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run is the whole program: it returns the exit status, 0 or 1, and has printed
// what went wrong as one sentence.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		_, _ = fmt.Fprintln(a.ErrOut, "error:", explain(err)) // there is nobody else to tell
		return 1
	}
	return 0
}
