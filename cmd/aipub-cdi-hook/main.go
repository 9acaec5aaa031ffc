// SPDX-License-Identifier: Apache-2.0

// Command aipub-cdi-hook is run by container runtimes while they create a
// container that has a block slice (CDI hook createContainer). It needs no
// library of the host's and reads the container's state from its standard input
// (OCI runtime specification, "State").
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"aipub.io/aipub/cdi/preload"
)

var version = "dev"

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "aipub-cdi-hook:", err)
		os.Exit(1)
	}
}

const usage = `aipub-cdi-hook preload --library=PATH --work-dir=DIR < STATE

Makes the programs of the container that is being created load a library. STATE
is the container's state as container runtimes give it to hooks. PATH is the
library as the container sees it, DIR a folder of the host's for small files.

aipub-cdi-hook version
`

func run(args []string, in io.Reader, out io.Writer) error {
	library, work := "", ""
	f := pflag.NewFlagSet("aipub-cdi-hook", pflag.ContinueOnError)
	f.Usage = func() { _, _ = fmt.Fprint(out, usage) }
	f.StringVar(&library, "library", "", "library in the container")
	f.StringVar(&work, "work-dir", "", "folder for files that are bound into containers")
	switch err := f.Parse(args); {
	case err == pflag.ErrHelp: //nolint:errorlint // pflag returns it bare
		return nil
	case err != nil:
		return err
	}
	switch {
	case f.NArg() == 1 && f.Arg(0) == "version":
		_, err := fmt.Fprintln(out, "aipub-cdi-hook", version)
		return err
	case f.NArg() != 1 || f.Arg(0) != "preload":
		return fmt.Errorf("arguments %q: the one verb is preload; see --help", f.Args())
	case !filepath.IsAbs(library):
		return fmt.Errorf("--library: %q is not an absolute path", library)
	case !filepath.IsAbs(work):
		return fmt.Errorf("--work-dir: %q is not an absolute path", work)
	}
	rootfs, err := containerRoot(in)
	if err != nil {
		return err
	}
	return preload.Apply(rootfs, library, work)
}

// containerRoot is the root of the container whose state is given.
func containerRoot(in io.Reader) (string, error) {
	var state struct {
		Bundle string `json:"bundle"`
	}
	if err := json.NewDecoder(in).Decode(&state); err != nil {
		return "", fmt.Errorf("read container state from standard input: %w", err)
	}
	if state.Bundle == "" {
		return "", fmt.Errorf("read container state: it has no bundle")
	}
	data, err := os.ReadFile(filepath.Join(state.Bundle, "config.json"))
	if err != nil {
		return "", fmt.Errorf("read container configuration: %w", err)
	}
	var config struct {
		Root struct {
			Path string `json:"path"`
		} `json:"root"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return "", fmt.Errorf("read container configuration: %w", err)
	}
	if filepath.IsAbs(config.Root.Path) {
		return config.Root.Path, nil
	}
	return filepath.Join(state.Bundle, config.Root.Path), nil
}
