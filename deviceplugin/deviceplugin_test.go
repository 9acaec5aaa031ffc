// SPDX-License-Identifier: Apache-2.0

package deviceplugin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/deviceplugin"
	"aipub.io/aipub/gpu"
	"aipub.io/aipub/node"
	"aipub.io/aipub/test/kit"
)

func snapshot(t *testing.T, layout gpu.Layout, held ...gpu.SliceID) gpu.Snapshot {
	t.Helper()
	s := node.New(node.Config{})
	s.SetLayout(layout)
	for _, id := range held {
		sl, _ := layout.Find(id)
		if err := s.Claim(sl.Set, []gpu.SliceID{id}); err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot()
}

func TestDevicesAreHealthyWhenFreeOrHeldAndKnowTheirNUMANodes(t *testing.T) {
	layout := kit.MakeLayout(2).NUMA(2).Block("small", 50).Whole("large", 1).Obj()
	layout.Slices[1].NUMANodes = []int{gpu.NUMAUnknown}
	s := snapshot(t, layout, kit.ID(0, "small", 0))
	want := []deviceplugin.Device{
		{ID: "00000001-small-0", Healthy: true, NUMANodes: []int{0}},
		{ID: "00000001-small-1", Healthy: true}, // nil, not empty: an empty list refuses pods
		{ID: "00000002-small-0", Healthy: true, NUMANodes: []int{1}},
		{ID: "00000002-small-1", Healthy: true, NUMANodes: []int{1}},
	}
	if diff := cmp.Diff(want, deviceplugin.Devices(s, "small")); diff != "" {
		t.Errorf("small (-want +got):\n%s", diff)
	}
	want = []deviceplugin.Device{
		{ID: "00000001-large-0", Healthy: false, NUMANodes: []int{0}},
		{ID: "00000002-large-0", Healthy: true, NUMANodes: []int{1}},
	}
	if diff := cmp.Diff(want, deviceplugin.Devices(s, "large")); diff != "" {
		t.Errorf("large (-want +got):\n%s", diff)
	}
}

func TestASetIsServedUntilItsLastSliceIsIdle(t *testing.T) {
	s := node.New(node.Config{})
	s.SetLayout(kit.MakeLayout(1).Block("small", 25).Block("medium", 50).Obj())
	if err := s.Claim("medium", []gpu.SliceID{kit.ID(0, "medium", 1)}); err != nil {
		t.Fatal(err)
	}
	s.SetLayout(kit.MakeLayout(1).Block("tiny", 10).Obj())
	if diff := cmp.Diff([]string{"tiny", "medium"}, deviceplugin.Sets(s.Snapshot())); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	want := []deviceplugin.Device{{ID: "00000001-medium-1", Healthy: true}}
	if diff := cmp.Diff(want, deviceplugin.Devices(s.Snapshot(), "medium")); diff != "" {
		t.Errorf("medium (-want +got):\n%s", diff)
	}
}

func TestDiff(t *testing.T) {
	start, stop := deviceplugin.Diff([]string{"a", "b", "c"}, []string{"d", "b", "d", "a"})
	if diff := cmp.Diff([][]string{{"d"}, {"c"}}, [][]string{start, stop}); diff != "" {
		t.Errorf("start and stop (-want +got):\n%s", diff)
	}
}

func TestWhatTheAPIDoesNotAllowIsNamed(t *testing.T) {
	many := make([]deviceplugin.Device, 100_000)
	for i := range many {
		many[i] = deviceplugin.Device{ID: fmt.Sprintf("%08x-a-set-with-a-long-name-%d", i, i)}
	}
	for name, tc := range map[string]struct {
		set  string
		devs []deviceplugin.Device
		want deviceplugin.Reason
		says string
	}{
		"no name":         {set: "", want: deviceplugin.ReasonName, says: `""`},
		"a slash":         {set: "a/b", want: deviceplugin.ReasonName, says: `"a/b"`},
		"ends in a dash":  {set: "small-", want: deviceplugin.ReasonName, says: "end with a letter or digit"},
		"a long name":     {set: strings.Repeat("a", 60), want: deviceplugin.ReasonName, says: "at most 59"},
		"a long ID":       {set: "small", devs: []deviceplugin.Device{{ID: strings.Repeat("a", 64)}}, want: deviceplugin.ReasonID, says: "has 64 characters; at most 63"},
		"an odd ID":       {set: "small", devs: []deviceplugin.Device{{ID: "A b"}}, want: deviceplugin.ReasonID, says: `"A b"`},
		"an ID twice":     {set: "small", devs: []deviceplugin.Device{{ID: "a"}, {ID: "a"}}, want: deviceplugin.ReasonID, says: "twice"},
		"a list too long": {set: "small", devs: many, want: deviceplugin.ReasonSize, says: "aipub.io/set-small: its list of 100000 devices is"},
	} {
		t.Run(name, func(t *testing.T) {
			err := deviceplugin.Check(tc.set, tc.devs)
			fail, ok := errors.AsType[*deviceplugin.LimitError](err)
			if !ok || fail.Reason != tc.want || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want reason %s and %q", err, tc.want, tc.says)
			}
		})
	}
	if err := deviceplugin.Check(strings.Repeat("a", 59), []deviceplugin.Device{{ID: strings.Repeat("a", 63)}}); err != nil {
		t.Errorf("the longest allowed names: %v", err)
	}
}
