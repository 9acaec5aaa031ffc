// SPDX-License-Identifier: Apache-2.0

package gpusim

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// moduleFile reads a file of a module that this one requires.
func moduleFile(t *testing.T, module, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find module %s: %v", module, err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
