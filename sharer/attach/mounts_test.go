// SPDX-License-Identifier: Apache-2.0

package attach_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aipub.io/aipub/sharer/attach"
)

func TestHasMount(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" +
		"30 22 0:25 /aipub/slices/a-small-0 /run/aipub/slices/a-small-0 ro - tmpfs tmpfs rw\n" +
		"31 22 0:25 / /run/other rw - tmpfs tmpfs rw\n"
	if err := os.WriteFile(filepath.Join(root, "7", "mountinfo"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := attach.NewProc(root)
	for dir, want := range map[string]bool{
		"/run/aipub/slices": true, "/run/aipub/slices/": true, "/run/aipub/slices/a-small-0": true,
		"/run/aipub/slice": false, "/run/other": true, "/aipub/slices": false,
	} {
		if got, err := p.HasMount(7, dir); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", dir, got, err, want)
		}
	}
	if _, err := p.HasMount(8, "/run"); err == nil {
		t.Error("no error for a process that is not there")
	}
}

// A container that was made while the limiter was off is told so, and not to
// change its image.
func TestAContainerFromBeforeTheLimiterIsToldToBeStartedAnew(t *testing.T) {
	for unequipped, want := range map[bool]string{true: "began while the limiter was off", false: "glibc 2.17"} {
		s := sample()
		s.Attached, s.OnGPU[0].Unequipped = nil, unequipped
		reports := watch(attach.New(attach.Config{}), s, 4)
		f := reports[3].Findings
		if len(f) != 1 || f[0].Reason != attach.NotAttached || !strings.Contains(f[0].Message, want) {
			t.Errorf("unequipped %v: found %+v, want NotAttached with %q", unequipped, f, want)
		}
	}
}
