// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"aipub.io/aipub/test/cluster/internal/cluster"
)

func up(ctx context.Context, c cluster.Cluster, args []string) error {
	settings, err := upFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Up(ctx, settings); err != nil {
		return err
	}
	fmt.Println(c.Layout.Kubeconfig())
	return nil
}

// upFlags returns nil where no flag is given, which means the settings of the
// cluster that is there, or else the default ones.
func upFlags(args []string) (*cluster.Settings, error) {
	s := cluster.Default()
	set := flag.NewFlagSet("up", flag.ContinueOnError)
	set.StringVar(&s.Node, "node", s.Node, "the node's name")
	set.Func("labels", "the node's labels, as key=value,key=value; replaces "+labelText(s.Labels), func(text string) error {
		labels, err := parseLabels(text)
		s.Labels = labels
		return err
	})
	set.IntVar(&s.Machine.CPUs, "cpus", s.Machine.CPUs, "CPUs of the simulated machine; 0 shows the real machine")
	set.IntVar(&s.Machine.NUMANodes, "numa", s.Machine.NUMANodes, "NUMA nodes of the simulated machine")
	set.Func("memory", "memory of the simulated machine, such as 256Gi (the default)", func(text string) error {
		bytes, err := parseMemory(text)
		s.Machine.MemoryBytes = bytes
		return err
	})
	set.StringVar(&s.TopologyPolicy, "topology", s.TopologyPolicy, "the kubelet's topologyManagerPolicy")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("up takes flags only, not %q", set.Arg(0))
	}
	if set.NFlag() == 0 {
		return nil, nil
	}
	if s.Machine.CPUs == 0 {
		s.Machine.MemoryBytes, s.Machine.NUMANodes = 0, 0 // the real machine's as well
	}
	return &s, s.Validate()
}

func load(ctx context.Context, c cluster.Cluster, args []string) error {
	set := flag.NewFlagSet("load", flag.ContinueOnError)
	name := set.String("name", "", "the image's name and tag, if its archive does not hold them")
	root := set.Bool("root", false, "the one FILE is a folder with the root file system of an image to be made; --name names it")
	if err := set.Parse(args); err != nil {
		return err
	}
	if *root {
		if set.NArg() != 1 || *name == "" {
			return fmt.Errorf("load --root: give one folder, and the image's name by --name NAME:TAG")
		}
		return c.LoadRoot(ctx, *name, set.Arg(0))
	}
	if set.NArg() == 0 {
		return fmt.Errorf("name at least one image archive or OCI layout folder")
	}
	return c.Load(ctx, *name, set.Args())
}

// parseMemory reads an amount with a binary unit, such as 256Gi, in bytes.
func parseMemory(text string) (int64, error) {
	for unit, shift := range map[string]int{"Mi": 20, "Gi": 30, "Ti": 40} {
		if number, found := strings.CutSuffix(text, unit); found {
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil || n < 0 || n > 1<<62>>shift {
				break
			}
			return n << shift, nil
		}
	}
	return 0, fmt.Errorf("%q is no amount of memory, it must be a whole number with Mi, Gi or Ti, such as 256Gi", text)
}

func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	if text == "" {
		return labels, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("%q is no label, it must be like key=value", pair)
		}
		labels[key] = value
	}
	return labels, nil
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}
