// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"aipub.io/aipub/test/cluster/internal/cluster"
)

type verb struct {
	args, help string
	run        func(ctx context.Context, c cluster.Cluster, args []string) error
}

var verbs map[string]verb

func init() { // the help verb reads the table
	verbs = map[string]verb{
		"up":         {"[FLAGS]", "bring the cluster up, or what is missing of it; prints the kubeconfig's path (up -h: flags)", up},
		"down":       {"", "stop everything and remove all but the logs", down},
		"status":     {"", "show what runs; exit status 1 unless all does", status},
		"build":      {"", "build the programs only, into the cache", build},
		"assets":     {"", "print a folder for envtest's KUBEBUILDER_ASSETS", assets},
		"kubeconfig": {"", "print the path of the administrator's kubeconfig", kubeconfig},
		"env":        {"", "print the shell's export lines for kubectl, helm and ctr", env},
		"kubectl":    {"ARG...", "run kubectl on the cluster", kubectl},
		"load":       {"[--name NAME:TAG [--root]] FILE...", "import image archives or OCI layout folders, or make an image of a folder", load},
		"start":      {"COMPONENT", "start one component", start},
		"stop":       {"COMPONENT", "stop one component", stop},
		"kill":       {"COMPONENT", "end one component at once (SIGKILL)", kill},
		"restart":    {"COMPONENT", "stop and start one component; containers go on", restart},
		"reboot":     {"", "simulate a reboot of the node; the control plane stays up", reboot},
		"help":       {"", "show this", help},
	}
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: cluster VERB [ARG...]\n\n")
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		fmt.Fprintf(&b, "  %-34s %s\n", name+" "+verbs[name].args, verbs[name].help)
	}
	return b.String()
}

func help(context.Context, cluster.Cluster, []string) error {
	fmt.Print(usage())
	return nil
}

func down(_ context.Context, c cluster.Cluster, _ []string) error { return c.Down() }

func status(ctx context.Context, c cluster.Cluster, _ []string) error {
	c.Out = os.Stdout
	return c.Status(ctx)
}

func build(_ context.Context, c cluster.Cluster, _ []string) error {
	_, err := c.Build()
	return err
}

func assets(_ context.Context, c cluster.Cluster, _ []string) error {
	dir, err := c.Assets()
	if err == nil {
		fmt.Println(dir)
	}
	return err
}

func kubeconfig(_ context.Context, c cluster.Cluster, _ []string) error {
	fmt.Println(c.Layout.Kubeconfig())
	return nil
}

func env(_ context.Context, c cluster.Cluster, _ []string) error {
	for _, pair := range c.Env() {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Printf("export %s=%s\n", name, quote(value))
	}
	fmt.Printf("export PATH=%s:\"$PATH\"\n", quote(c.Layout.Bin()))
	return nil
}

func kubectl(_ context.Context, c cluster.Cluster, args []string) error {
	path := filepath.Join(c.Layout.Bin(), "kubectl")
	err := syscall.Exec(path, append([]string{"kubectl"}, args...), append(os.Environ(), c.Env()...))
	return fmt.Errorf("run kubectl: %w; is the cluster up?", err)
}

func start(ctx context.Context, c cluster.Cluster, args []string) error {
	return control(args, func(name string) error { return c.Start(ctx, name) })
}

func stop(_ context.Context, c cluster.Cluster, args []string) error {
	const grace = 10 * time.Second
	return control(args, func(name string) error { return c.Stop(name, grace) })
}

func kill(_ context.Context, c cluster.Cluster, args []string) error {
	return control(args, func(name string) error { return c.Stop(name, 0) })
}

func restart(ctx context.Context, c cluster.Cluster, args []string) error {
	return control(args, func(name string) error { return c.Restart(ctx, name) })
}

func control(args []string, do func(name string) error) error {
	if len(args) != 1 {
		return fmt.Errorf("name one component, such as kubelet, containerd or apiserver")
	}
	name, err := cluster.Component(args[0])
	if err != nil {
		return err
	}
	return do(name)
}

func reboot(ctx context.Context, c cluster.Cluster, _ []string) error { return c.Reboot(ctx) }

// quote makes one shell word of s.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
