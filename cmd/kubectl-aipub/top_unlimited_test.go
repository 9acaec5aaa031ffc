// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"
	"testing"

	"aipub.io/aipub/sharer"
)

func TestTopListsContainersThatNothingLimits(t *testing.T) {
	idle := sharer.Report{Node: "gpu-01", BootID: "boot-1"}
	off, on := averagedWorld(t), averagedWorld(t)
	fences := 0
	for i := range off.partitions.Items {
		for g := range off.partitions.Items[i].Status.GPUs {
			fences += len(off.partitions.Items[i].Status.GPUs[g].Fences)
			off.partitions.Items[i].Status.GPUs[g].Fences = nil
		}
	}
	if fences == 0 {
		t.Fatal("the fixture has no fence: the limiter is off in all of it")
	}
	for name, tc := range map[string]struct {
		partitions any
		want       string
		listed     bool
	}{
		"the limiter is off":            {off.partitions, "note: node gpu-01: the limiter is off there (node.limiter.enabled=false)", true},
		"the limiter is on":             {on.partitions, "note: no container holds a block slice", false},
		"the user may not look at them": {http.StatusForbidden, "note: no container holds a block slice", false},
	} {
		t.Run(name, func(t *testing.T) {
			answers := with(agents(map[string]any{"gpu-01": inTurn(idle)}), map[string]any{partitionsPath: tc.partitions})
			got := watched(t, server(t, answers), 0, "top")
			if !strings.Contains(got, tc.want) {
				t.Errorf("want %q in:\n%s", tc.want, got)
			}
			for _, word := range []string{"unlimited", "vision/train-0/main"} {
				if strings.Contains(got, word) != tc.listed {
					t.Errorf("that %q is shown should be %v:\n%s", word, tc.listed, got)
				}
			}
		})
	}
}
