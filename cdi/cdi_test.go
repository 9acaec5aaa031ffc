// SPDX-License-Identifier: Apache-2.0

package cdi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tags.cncf.io/container-device-interface/specs-go"

	"aipub.io/aipub/gpu"
)

func TestNames(t *testing.T) {
	s := gpu.Slice{ID: "0a1b2c3d-small-3", GPUs: []string{"GPU-x"}}
	if diff := cmp.Diff([]string{"aipub.io/driver=all", "aipub.io/set=0a1b2c3d-small-3"}, Names(s)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	s.GPUs = nil
	if diff := cmp.Diff([]string{"aipub.io/set=0a1b2c3d-small-3"}, Names(s)); diff != "" {
		t.Errorf("names of a CPU slice (-want +got):\n%s", diff)
	}
	if id, ok := SliceOf(FileName(s.ID)); !ok || id != s.ID {
		t.Errorf("SliceOf(FileName) = %q, %v", id, ok)
	}
	for _, file := range []string{DriverFile, "aipub.io-set-.json", "aipub.io-set-x.yaml", "spec.1.tmp", "nvidia.json"} {
		if id, ok := SliceOf(file); ok {
			t.Errorf("%s is taken for slice %q", file, id)
		}
	}
}

func TestMergeKeepsTheFirst(t *testing.T) {
	a := specs.ContainerEdits{
		Env:            []string{"A=1"},
		DeviceNodes:    []*specs.DeviceNode{{Path: "/dev/x", Permissions: "rw"}},
		Mounts:         []*specs.Mount{{HostPath: "/one", ContainerPath: "/m"}},
		Hooks:          []*specs.Hook{{HookName: "createContainer", Path: "/h", Args: []string{"a"}}},
		AdditionalGIDs: []uint32{4},
	}
	b := specs.ContainerEdits{
		Env:            []string{"A=1", "B=2"},
		DeviceNodes:    []*specs.DeviceNode{{Path: "/dev/x", Permissions: "rwm"}, {Path: "/dev/y"}},
		Mounts:         []*specs.Mount{{HostPath: "/two", ContainerPath: "/m"}},
		Hooks:          []*specs.Hook{{HookName: "createContainer", Path: "/h", Args: []string{"a"}}, {HookName: "createContainer", Path: "/h", Args: []string{"b"}}},
		AdditionalGIDs: []uint32{4, 5},
	}
	want := specs.ContainerEdits{
		Env:            []string{"A=1", "B=2"},
		DeviceNodes:    []*specs.DeviceNode{a.DeviceNodes[0], b.DeviceNodes[1]},
		Mounts:         a.Mounts,
		Hooks:          []*specs.Hook{a.Hooks[0], b.Hooks[1]},
		AdditionalGIDs: []uint32{4, 5},
	}
	if diff := cmp.Diff(want, Merge(a, b)); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

func TestSpecsThatCDIRefuses(t *testing.T) {
	tests := map[string]struct {
		id    gpu.SliceID
		edits specs.ContainerEdits
		words string
	}{
		"bad name":       {id: "a b", words: "name CDI device"},
		"empty path":     {id: "a", edits: specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{{}}}, words: "empty) device path"},
		"relative mount": {id: "a", edits: specs.ContainerEdits{Mounts: []*specs.Mount{{ContainerPath: "/x"}}}, words: "invalid mount"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := SetSpec(gpu.Slice{ID: tc.id, Set: "s"}, tc.edits)
			if err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("error %v, want it to say %q", err, tc.words)
			}
		})
	}
}

func TestFallbackKeepsOurEnvironment(t *testing.T) {
	a := Fallback(gpu.Slice{ID: "i", Set: "s"}, specs.ContainerEdits{
		Env:         []string{"NVIDIA_VISIBLE_DEVICES=all", "X=1"},
		Mounts:      []*specs.Mount{{HostPath: "/h", ContainerPath: "/c", Options: []string{"ro"}}},
		DeviceNodes: []*specs.DeviceNode{{Path: "/dev/x"}},
	})
	want := Access{
		Env:     map[string]string{"AIPUB_SET": "s", "AIPUB_SLICE": "i", "NVIDIA_VISIBLE_DEVICES": "void", "X": "1"},
		Mounts:  []Mount{{HostPath: "/h", ContainerPath: "/c", ReadOnly: true}},
		Devices: []Device{{HostPath: "/dev/x", ContainerPath: "/dev/x", Permissions: "rw"}},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
}
