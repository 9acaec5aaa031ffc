// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"words":            {"version", "kubectl-aipub v0.1.0 go"},
		"flag":             {"--version", "kubectl-aipub v0.1.0 go"},
		"json":             {"version -o json", `"version": "v0.1.0"`},
		"yaml":             {"version -o yaml", "version: v0.1.0"},
		"no such a format": {"version -o wide", "error: -o wide: no such format; version knows json and yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := terminal(t, nil, strings.Fields(tc.args)...); !strings.Contains(got, "\n"+tc.want) && !strings.Contains(got, "  "+tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAMissingKubeconfigIsNamed(t *testing.T) {
	for name, tc := range map[string]struct{ env, want string }{
		"not set":       {"", "give --kubeconfig or set KUBECONFIG"},
		"one file":      {"/nowhere", "KUBECONFIG names the file /nowhere, which does not exist"},
		"several files": {"/nowhere:/neither", "KUBECONFIG names the files /nowhere, /neither, which do not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := noConfig(tc.env).Error(); !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
