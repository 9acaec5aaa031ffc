// SPDX-License-Identifier: Apache-2.0

package choice_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aipub.io/aipub/gpu"
	"aipub.io/aipub/gpu/choice"
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
			got, err := choice.Prefer(s, available(s, tc.set), tc.must, tc.n)
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
	got, err := choice.Prefer(s, both, nil, 1)
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
			_, err := choice.Prefer(s, tc.available, tc.must, tc.n)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
