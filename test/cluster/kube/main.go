// SPDX-License-Identifier: Apache-2.0

// Command kube is Kubernetes in one binary: the name it is called by, or else
// its first argument, says which component it is. One link step instead of six.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // CronJob time zones, as upstream's apiserver and controller manager have them
)

func main() {
	run, err := choose()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(run())
}

// choose picks the component and, if its name came as the first argument,
// drops the binary's own name from os.Args, which upstream's commands read.
func choose() (func() int, error) {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		return run, nil
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			return run, nil
		}
	}
	names := slices.Sorted(maps.Keys(components))
	return nil, fmt.Errorf("choose component: call this binary as, or name first, one of %s", strings.Join(names, ", "))
}
