// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/gpu"
)

func TestTheLengthOfAListIsForetoldExactly(t *testing.T) {
	for name, numa := range map[string][]int{"unknown": nil, "first node": {0}, "several": {0, 1, 7, 300}} {
		for _, n := range []int{0, 1, 7, 1000} {
			t.Run(fmt.Sprint(n, " devices, NUMA ", name), func(t *testing.T) {
				var devs []deviceplugin.Device
				for i := range n {
					devs = append(devs, deviceplugin.Device{ID: strings.Repeat("a", i%63+1), Healthy: i%2 == 0, NUMANodes: numa})
				}
				if got, want := deviceplugin.MessageBytes(devs), proto.Size(listMessage(devs)); got != want {
					t.Errorf("%d bytes, want %d", got, want)
				}
			})
		}
	}
}

func TestUnknownTopologyIsNotSent(t *testing.T) {
	m := listMessage([]deviceplugin.Device{{ID: "a"}, {ID: "b", NUMANodes: []int{1}}})
	if m.Devices[0].Topology != nil {
		t.Error("an empty topology was sent: the kubelet takes it for near to no node")
	}
	if got := m.Devices[1].Topology.Nodes[0].ID; got != 1 {
		t.Errorf("node %d, want 1", got)
	}
}

func TestASocketPathFitsOrIsShortened(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range []string{"small", strings.Repeat("a", 59), strings.Repeat("b", 59)} {
		got, err := socketPath(DefaultDir, set, "0a1b2c3d")
		if err != nil || len(got) > maxSocketPath || !ours(filepath.Base(got)) || seen[got] {
			t.Errorf("set %s: path %q, %v", set, got, err)
		}
		seen[got] = true
	}
	if want := DefaultDir + "/aipub-set-small-0a1b2c3d.sock"; !seen[want] {
		t.Errorf("paths %v, want %s among them", seen, want)
	}
	if _, err := socketPath("/"+strings.Repeat("d", 100), "small", "n"); err == nil || !strings.Contains(err.Error(), "at most 107") {
		t.Errorf("error %v, want the limit", err)
	}
}

func TestADeviceOfSeveralNUMANodesIsHeldOnce(t *testing.T) {
	who := gpu.Holder{Namespace: "team", Pod: "p", Container: "c"}
	got := holdings(who, []*podresources.ContainerDevices{
		{ResourceName: "aipub.io/set-pair", DeviceIds: []string{"a"}},
		{ResourceName: "aipub.io/set-pair", DeviceIds: []string{"a"}},
		{ResourceName: "example.com/other", DeviceIds: []string{"x"}},
		{ResourceName: "aipub.io/set-cpu", DeviceIds: []string{"b"}},
		{ResourceName: "aipub.io/set-pair", DeviceIds: []string{"c"}},
	})
	want := []gpu.Holding{
		{Holder: who, Set: "pair", Slices: []gpu.SliceID{"a", "c"}},
		{Holder: who, Set: "cpu", Slices: []gpu.SliceID{"b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("holdings (-want +got):\n%s", diff)
	}
}
