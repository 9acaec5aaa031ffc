// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// versionInfo is what version prints as JSON and YAML.
type versionInfo struct {
	Version   string `json:"version"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func (a *app) versionInfo() versionInfo {
	return versionInfo{Version: a.version, GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
}

// String is the one line for people.
func (v versionInfo) String() string {
	return fmt.Sprintf("kubectl-aipub %s %s %s", v.Version, v.GoVersion, v.Platform)
}

func newVersion(a *app) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this plugin",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return a.versionInfo().write(format, a.Out) },
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: json, yaml. Default one line of text.")
	return cmd
}

func (v versionInfo) write(format string, w io.Writer) error {
	var raw []byte
	var err error
	switch format {
	case "":
		raw = []byte(v.String() + "\n")
	case "json":
		raw, err = json.MarshalIndent(v, "", "  ")
		raw = append(raw, '\n')
	case "yaml":
		raw, err = yaml.Marshal(v)
	default:
		return fmt.Errorf("-o %s: no such format; version knows json and yaml", format)
	}
	if err != nil {
		return fmt.Errorf("print version: %w", err)
	}
	_, err = w.Write(raw)
	return err
}

// noArguments is for commands that take flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q; see %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
	}
	return nil
}
