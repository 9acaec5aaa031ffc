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

func available(s gpu.Snapshot, set string) (ids []gpu.SliceID) {
	for _, st := range s.Slices {
		if st.Slice.Set == set && st.State == gpu.StateFree {
			ids = append(ids, st.Slice.ID)
		}
	}
	return ids
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

func TestPreferKeepsLargeSlicesWhole(t *testing.T) {
	mixed := func(gpus int) *kit.LayoutBuilder {
		return kit.MakeLayout(gpus).Block("small", 25).Block("medium", 50).Whole("large", 1)
	}
	for name, tc := range map[string]struct {
		layout gpu.Layout
		held   []gpu.SliceID
		set    string
		must   []gpu.SliceID
		n      int
		want   []gpu.SliceID
	}{
		"a small one goes where a medium one is broken already": {
			layout: mixed(3).Obj(), held: []gpu.SliceID{kit.ID(1, "small", 0)},
			set: "small", n: 1, want: []gpu.SliceID{kit.ID(1, "small", 1)}},
		"it fills the last quarter before it breaks a half": {
			layout: mixed(3).Obj(),
			held:   []gpu.SliceID{kit.ID(0, "medium", 0), kit.ID(2, "medium", 0), kit.ID(2, "small", 0)},
			set:    "small", n: 1, want: []gpu.SliceID{kit.ID(2, "small", 1)}},
		"a medium one goes where no whole GPU is lost": {
			layout: mixed(3).Obj(), held: []gpu.SliceID{kit.ID(2, "small", 0)},
			set: "medium", n: 1, want: []gpu.SliceID{kit.ID(2, "medium", 0)}},
		"several small ones stay on one GPU": {
			layout: mixed(2).Obj(), held: []gpu.SliceID{kit.ID(1, "medium", 0)},
			set: "small", n: 2, want: []gpu.SliceID{kit.ID(1, "small", 0), kit.ID(1, "small", 1)}},
		"a GPU leaves pairs whole": {
			layout: kit.MakeLayout(6).Whole("large", 1).Whole("pair", 2).Obj(), held: []gpu.SliceID{kit.ID(3, "large", 0)},
			set: "large", n: 1, want: []gpu.SliceID{kit.ID(2, "large", 0)}},
		"two GPUs are a pair": {
			layout: kit.MakeLayout(6).Whole("large", 1).Whole("pair", 2).Obj(),
			held:   []gpu.SliceID{kit.ID(0, "large", 0), kit.ID(1, "large", 0)},
			set:    "large", n: 2, want: []gpu.SliceID{kit.ID(2, "large", 0), kit.ID(3, "large", 0)}},
		"several GPUs come from one NUMA node that has enough": {
			layout: kit.MakeLayout(8).NUMA(2).Whole("large", 1).Obj(),
			held:   []gpu.SliceID{kit.ID(0, "large", 0), kit.ID(1, "large", 0)},
			set:    "large", n: 3, want: []gpu.SliceID{kit.ID(4, "large", 0), kit.ID(5, "large", 0), kit.ID(6, "large", 0)}},
		"the fuller NUMA node when both have enough": {
			layout: kit.MakeLayout(8).NUMA(2).Whole("large", 1).Obj(), held: []gpu.SliceID{kit.ID(5, "large", 0)},
			set: "large", n: 2, want: []gpu.SliceID{kit.ID(4, "large", 0), kit.ID(6, "large", 0)}},
		"what must be among them comes first, and the rest near to it": {
			layout: kit.MakeLayout(8).NUMA(2).Whole("large", 1).Obj(),
			set:    "large", n: 2, must: []gpu.SliceID{kit.ID(6, "large", 0)},
			want: []gpu.SliceID{kit.ID(6, "large", 0), kit.ID(5, "large", 0)}},
		"without a reason the first": {
			layout: kit.MakeLayout(2).CPU("cpu", 4, 4).Obj(), set: "cpu", n: 2, want: []gpu.SliceID{"cpu-cpu-0", "cpu-cpu-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(t, tc.layout, tc.held...)
			got, err := deviceplugin.Prefer(s, available(s, tc.set), tc.must, tc.n)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreferAvoidsWhatTheKubeletDoesNotKnowToBeBlockedYet(t *testing.T) {
	s := snapshot(t, kit.MakeLayout(2).Block("medium", 50).Whole("large", 1).Obj(), kit.ID(0, "medium", 0))
	both := []gpu.SliceID{kit.ID(0, "large", 0), kit.ID(1, "large", 0)}
	got, err := deviceplugin.Prefer(s, both, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(both[1:], got); diff != "" {
		t.Errorf("choice (-want +got):\n%s", diff)
	}
}

func TestPreferSaysWhatItCannotDo(t *testing.T) {
	s := snapshot(t, kit.MakeLayout(1).Block("small", 25).Obj())
	ids := available(s, "small")
	for name, tc := range map[string]struct {
		available, must []gpu.SliceID
		n               int
		want            string
	}{
		"more must than asked":   {ids, ids[:2], 1, "2 must be among them"},
		"an unknown one must":    {ids, []gpu.SliceID{"x"}, 1, "x must be among them but is not known"},
		"fewer known than asked": {append(ids[:1:1], "x"), nil, 2, "fewer are known"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deviceplugin.Prefer(s, tc.available, tc.must, tc.n)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
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
