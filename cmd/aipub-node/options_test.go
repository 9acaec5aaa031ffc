// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/cdi"
	"aipub.io/aipub/deviceplugin/kubelet"
	"aipub.io/aipub/gpu"
)

func TestBadFlagsNameFlagValueAndWhatIsAllowed(t *testing.T) {
	tests := map[string]struct {
		args  []string
		words []string
	}{
		"no node":                   {nil, []string{"--node-name", "empty", "NODE_NAME"}},
		"an argument":               {[]string{"--node-name=n", "extra"}, []string{`"extra"`, "flags only"}},
		"an unknown flag":           {[]string{"--node-name=n", "--no-such"}, []string{"--no-such"}},
		"a relative path":           {[]string{"--node-name=n", "--state-dir=var/x"}, []string{"--state-dir", `"var/x"`, "starts with /"}},
		"an empty path":             {[]string{"--node-name=n", "--cdi-dir="}, []string{"--cdi-dir", `""`, "starts with /"}},
		"a log level":               {[]string{"--node-name=n", "--log-level=loud"}, []string{"--log-level", `"loud"`, "debug, info, warn and error"}},
		"a metrics address":         {[]string{"--node-name=n", "--metrics-address=9402"}, []string{"--metrics-address", `"9402"`, ":9402"}},
		"an Xid that is none":       {[]string{"--node-name=n", "--ignore-xids=x"}, []string{"--ignore-xids", `"x"`}},
		"a CPU that is never idle":  {[]string{"--node-name=n", "--idle-cpu-percent=-1"}, []string{"--idle-cpu-percent", "-1", "from 0"}},
		"a GPU that is always idle": {[]string{"--node-name=n", "--idle-gpu-percent=101"}, []string{"--idle-gpu-percent", "101", "0 to 100"}},
		"no percents":               {[]string{"--node-name=n", "--idle-gpu-percent=NaN"}, []string{"--idle-gpu-percent", "NaN", "0 to 100"}},
		"CDI maybe":                 {[]string{"--node-name=n", "--cdi=maybe"}, []string{"--cdi", `"maybe"`}},
		"a missing kubeconfig": {
			[]string{"--node-name=n", "--kubeconfig=/no/such", "--state-dir=" + "/tmp"}, []string{"--kubeconfig", "/no/such"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", "")
			o, err := parse(tc.args)
			if err == nil && o.kubeconfig != "" {
				_, err = restConfig(o)
			}
			for _, w := range tc.words {
				if err == nil || !strings.Contains(err.Error(), w) {
					t.Errorf("error %v does not say %s", err, w)
				}
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Setenv("NODE_NAME", "gpu-1")
	o, err := parse([]string{"--driver-root=/run/nvidia/driver", "--critical-xids=13,31"})
	if err != nil {
		t.Fatal(err)
	}
	if o.node != "gpu-1" || o.devRoot != "/run/nvidia/driver" || !o.cdi {
		t.Errorf("node %q, dev root %q, cdi %v", o.node, o.devRoot, o.cdi)
	}
	if diff := cmp.Diff([]uint64{13, 31}, widen(o.criticalXids)); diff != "" {
		t.Errorf("Xids (-want +got):\n%s", diff)
	}
}

func TestVersionNeedsNothingElse(t *testing.T) {
	t.Setenv("NODE_NAME", "")
	if err := run(context.Background(), []string{"--version"}); err != nil {
		t.Error(err)
	}
}

func TestSlicesThatAgreeGiveThingsOnce(t *testing.T) {
	access := func(id gpu.SliceID) (cdi.Access, bool) {
		return cdi.Access{
			Env:     map[string]string{"AIPUB_SLICE": string(id), "AIPUB_SET": "large"},
			Mounts:  []cdi.Mount{{HostPath: "/lib", ContainerPath: "/lib", ReadOnly: true}},
			Devices: []cdi.Device{{HostPath: "/dev/ctl", ContainerPath: "/dev/ctl", Permissions: "rw"}, {HostPath: "/dev/" + string(id), ContainerPath: "/dev/" + string(id), Permissions: "rw"}},
		}, id != "unknown"
	}
	got, err := spelledOut([]gpu.Slice{{ID: "a"}, {ID: "b"}}, access)
	if err != nil {
		t.Fatal(err)
	}
	want := kubelet.Response{
		Envs:   map[string]string{"AIPUB_SLICE": "a", "AIPUB_SET": "large"},
		Mounts: []kubelet.Mount{{HostPath: "/lib", ContainerPath: "/lib", ReadOnly: true}},
		Devices: []kubelet.DeviceNode{
			{HostPath: "/dev/ctl", ContainerPath: "/dev/ctl", Permissions: "rw"},
			{HostPath: "/dev/a", ContainerPath: "/dev/a", Permissions: "rw"},
			{HostPath: "/dev/b", ContainerPath: "/dev/b", Permissions: "rw"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	if _, err := spelledOut([]gpu.Slice{{ID: "unknown"}}, access); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("error %v does not name the slice", err)
	}
}

func TestTheLibraryIsLookedForUnderTheDriverRoot(t *testing.T) {
	root := t.TempDir()
	if got := library("", root); got != "" {
		t.Errorf("found %q where there is none", got)
	}
	path := filepath.Join(root, "usr/lib64/libnvidia-ml.so.1")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := library("", root); got != path {
		t.Errorf("found %q, want %q", got, path)
	}
	if got := library("/given.so", root); got != "/given.so" {
		t.Errorf("%q instead of the given one", got)
	}
}
