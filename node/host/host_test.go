// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeSysfs writes node directories: name → cpulist, meminfo ("-" for none).
func fakeSysfs(t *testing.T, nodes map[string][2]string) string {
	t.Helper()
	root := t.TempDir()
	for name, files := range nodes {
		dir := filepath.Join(root, "devices/system/node", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for i, file := range []string{"cpulist", "meminfo"} {
			if files[i] == "-" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(files[i]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestNUMANodes(t *testing.T) {
	tests := map[string]struct {
		nodes   map[string][2]string
		want    []NUMANode
		wantErr string
	}{
		"no NUMA": {},
		"ten nodes in order of number": {
			nodes: map[string][2]string{
				"node10": {"8-9\n", "Node 10 MemTotal:  1024 kB\n"},
				"node2":  {"0-3,5\n", "Node 2 MemFree: 1 kB\nNode 2 MemTotal:  2048 kB\n"},
			},
			want: []NUMANode{{ID: 2, CPUs: 5, MemoryBytes: 2 << 20}, {ID: 10, CPUs: 2, MemoryBytes: 1 << 20}},
		},
		"memory of a device is no node of the host": {
			nodes: map[string][2]string{
				"node0": {"0\n", "Node 0 MemTotal: 4 kB\n"},
				"node1": {"\n", "Node 1 MemTotal: 4 kB\n"},
			},
			want: []NUMANode{{ID: 0, CPUs: 1, MemoryBytes: 4096}},
		},
		"CPUs without memory": {
			nodes: map[string][2]string{"node0": {"0-1", "-"}},
			want:  []NUMANode{{ID: 0, CPUs: 2}},
		},
		"malformed CPU list": {
			nodes:   map[string][2]string{"node0": {"3-1", "-"}},
			wantErr: `CPU list "3-1" is malformed`,
		},
		"meminfo without a total": {
			nodes:   map[string][2]string{"node0": {"0", "Node 0 MemFree: 3 kB"}},
			wantErr: "meminfo has no MemTotal",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := NUMANodes(fakeSysfs(t, tc.nodes))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error = %v, want it to contain %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBootID(t *testing.T) {
	proc := t.TempDir()
	if _, err := BootID(proc); err == nil {
		t.Error("no error without a boot ID")
	}
	dir := filepath.Join(proc, "sys/kernel/random")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "boot_id"), []byte("abc-def\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := BootID(proc)
	if err != nil || got != "abc-def" {
		t.Errorf("BootID = %q, %v", got, err)
	}
}
