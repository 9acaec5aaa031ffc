// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestWorkspaceScreens(t *testing.T) {
	for name, args := range map[string]string{
		"workspace-list":         "workspace list -n lab",
		"workspace-list-all":     "ws ls -A",
		"workspace-list-wide":    "workspace list -A -o wide",
		"workspace-list-user":    "workspace list -n lab --user lee",
		"workspace-list-nobody":  "workspace list -n web --user lee",
		"workspace-list-json":    "workspace list -n lab --user kim -o json",
		"workspace-show":         "workspace show kim -n lab",
		"workspace-show-queued":  "workspace show lab/workspace/ann",
		"workspace-show-paused":  "workspace show lee -n lab",
		"workspace-show-failing": "workspace show big -n vision",
		"workspace-show-other":   "workspace show deploy/editor -n lab",
		"workspace-show-name":    "workspace show notebook/notes -n lab -o jsonpath={.kind}/{.metadata.name}",
		"workspace-unknown":      "workspace show kmi -n lab",
		"workspace-other-kind":   "workspace show editor -n lab",
		"workspace-operation":    "workspace show deployment/serve -n lab",
		"workspace-owned":        "workspace show sts/kim -n lab",
		"workspace-bad-kind":     "workspace show deploment/editor -n lab",
		"workspace-no-name":      "workspace pause",
		"workspace-offline":      "workspace pause kim -n lab",
		"workspace-unknown-verb": "workspace puase kim",
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name, workingLab(t).kubectl(t, strings.Fields(args)...))
		})
	}
}

func TestWorkspaceNamesAreCompleted(t *testing.T) {
	for args, want := range map[string]string{
		"workspace show --offline - -n lab l":      "lee\n",
		"workspace pause --offline - -n lab kim ":  "ann\ndeployment/editor\nlee\nnotebook/notes\nstatefulset/shell\n:",
		"workspace extend --offline - -n lab kim ": ":4\n",
		"workspace create x --dry-run ":            "client\nserver\nnone\n",
		"workspace create x --set small --save c":  "home\ncommit\n",
	} {
		if got := terminal(t, workingLab(t).dump(t), append([]string{"__complete"}, strings.Split(args, " ")...)...); !strings.Contains(got, "\n"+want) {
			t.Errorf("%s: want %q in\n%s", args, want, got)
		}
	}
}
