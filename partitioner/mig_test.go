// SPDX-License-Identifier: Apache-2.0

package partitioner

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/gpu"
)

// strictBoard takes instances like the hardware does: at a legal placement that
// is free, within the compute slices and the limit of each profile.
type strictBoard struct {
	profiles []gpu.Profile
	made     []gpu.MIGTarget
}

func (b *strictBoard) create(t gpu.MIGTarget) error {
	if !slices.Contains(t.Profile.Placements, t.Placement) {
		return fmt.Errorf("place %s at %v: not a legal placement", t.Profile.Name, t.Placement)
	}
	compute, same, media := t.Profile.ComputeSlices, 1, 0
	if t.Profile.MediaExtensions {
		media = 1
	}
	for _, m := range b.made {
		if m.Placement.Overlaps(t.Placement) {
			return fmt.Errorf("place %s at %v: occupied by %s at %v", t.Profile.Name, t.Placement, m.Profile.Name, m.Placement)
		}
		compute += m.Profile.ComputeSlices
		if m.Profile.ID == t.Profile.ID {
			same++
		}
		if m.Profile.MediaExtensions {
			media++
		}
	}
	if compute > boardOf(b.profiles).compute || same > t.Profile.MaxCount || media > 1 {
		return fmt.Errorf("place %s: %d compute slices, %d alike, %d with media extensions", t.Profile.Name, compute, same, media)
	}
	b.made = append(b.made, t)
	return nil
}

// space is all layouts of a table: what the hardware accepts, however it comes
// about.
type space struct {
	layouts   int     // placed layouts with at least one instance
	multisets [][]int // counts by profile, without the empty one
	maximal   [][]int // multisets to which nothing can be added
	seen      map[string]bool
	profiles  []gpu.Profile
	slots     []gpu.MIGTarget // every profile at every placement
}

func exhaust(profiles []gpu.Profile) *space {
	s := &space{profiles: profiles, seen: map[string]bool{}}
	for _, p := range profiles {
		for _, pl := range p.Placements {
			s.slots = append(s.slots, gpu.MIGTarget{Profile: p, Placement: pl})
		}
	}
	s.walk(0, &strictBoard{profiles: profiles})
	return s
}

func (s *space) walk(from int, b *strictBoard) {
	s.layouts++
	counts := make([]int, len(s.profiles))
	for _, m := range b.made {
		counts[slices.IndexFunc(s.profiles, func(p gpu.Profile) bool { return p.ID == m.Profile.ID })]++
	}
	if len(b.made) > 0 {
		s.note(&s.multisets, "", counts)
	}
	full := true
	for i, t := range s.slots {
		if b.create(t) != nil {
			continue
		}
		full = false
		if i >= from {
			s.walk(i+1, b)
		}
		b.made = b.made[:len(b.made)-1]
	}
	if full {
		s.note(&s.maximal, "maximal", counts)
	}
}

// note adds counts to a list once.
func (s *space) note(list *[][]int, kind string, counts []int) {
	if key := kind + fmt.Sprint(counts); !s.seen[key] {
		s.seen[key] = true
		*list = append(*list, counts)
	}
}

// tables are the finite spaces, with what is known of them.
var tables = map[string]struct {
	profiles                     []gpu.Profile
	layouts, multisets, maximals int
}{
	"standard, 7 compute of 8 memory": {only(sevenOfEight(16.5), 19, 14, 9, 5, 0), 298, 37, 14},
	"with double memory":              {only(sevenOfEight(16.5), 19, 15, 14, 9, 5, 0), 723, 77, 38},
	"A30, 4 of 4":                     {only(a30(), 14, 5, 0), 26, 9, 4},
	"all profiles with +me":           {sevenOfEight(9.75), 0, 0, 0},
	"A30 with +me":                    {a30(), 0, 0, 0},
}

func only(profiles []gpu.Profile, ids ...int) []gpu.Profile {
	return slices.DeleteFunc(profiles, func(p gpu.Profile) bool { return !slices.Contains(ids, p.ID) })
}

// setFor is the set that means a profile.
func setFor(p gpu.Profile) api.SetTemplate {
	t := migSet("s"+fmt.Sprint(p.ID), int32(p.ComputeSlices), bytesOf(p.MemoryBytes))
	t.GPU.MIG.MediaExtensions = p.MediaExtensions
	return t
}

// migNode has one GPU with the given profiles.
func migNode(profiles []gpu.Profile) Node {
	g := h200(0, gpu.NUMAUnknown)
	g.MIG.Profiles = profiles
	return box("n", 64, 512, []gpu.GPU{g}, false)
}

// fixed is a policy that cuts every GPU into the given counts, named in order.
func fixed(profiles []gpu.Profile, counts []int, order []int) api.PartitionPolicySpec {
	rule := api.GPURule{Mode: api.GPUMIG}
	var sets []api.SetTemplate
	for _, i := range order {
		sets = append(sets, setFor(profiles[i]))
		if counts[i] > 0 {
			rule.Layout = append(rule.Layout, api.SetCount{Set: "s" + fmt.Sprint(profiles[i].ID), Count: int32(counts[i])})
		}
	}
	return policy([]api.GPURule{rule}, sets...)
}

// orders are all permutations of 0..n-1.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, o := range orders(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(o), at, n-1))
		}
	}
	return out
}

func TestEveryMIGLayoutIsPlanned(t *testing.T) {
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			s := exhaust(table.profiles)
			got := [3]int{s.layouts, len(s.multisets), len(s.maximal)}
			want := [3]int{table.layouts, table.multisets, table.maximals}
			if want[0] > 0 && got != want {
				t.Errorf("layouts, multisets, maximal multisets: got %v, want %v", got, want)
			}
			n := migNode(table.profiles)
			for _, counts := range s.multisets {
				spec := fixed(table.profiles, counts, orders(len(counts))[0])
				l, r := planned(t, n, spec)
				expectCounts(t, l, r, table.profiles, counts)
			}
			t.Logf("%d layouts, %d multisets, %d of them maximal", s.layouts, len(s.multisets), len(s.maximal))
		})
	}
}

// expectCounts checks that the layout has exactly these instances, at places
// that the hardware accepts.
func expectCounts(t *testing.T, l gpu.Layout, r Report, profiles []gpu.Profile, counts []int) {
	t.Helper()
	got := make([]int, len(counts))
	b := &strictBoard{profiles: profiles}
	for _, s := range l.Slices {
		if err := b.create(*s.MIG); err != nil {
			t.Errorf("%v: %v", counts, err)
		}
		got[slices.IndexFunc(profiles, func(p gpu.Profile) bool { return p.ID == s.MIG.Profile.ID })]++
	}
	if diff := cmp.Diff(counts, got); diff != "" {
		t.Errorf("%v (-want +got): %s\n%v", counts, diff, r.Rejections)
	}
}

func TestEveryMaximalMultisetInEveryArrivalOrder(t *testing.T) {
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			n := migNode(table.profiles)
			tried := 0
			for _, counts := range exhaust(table.profiles).maximal {
				spec := fixed(table.profiles, counts, orders(len(counts))[0])
				l, _ := planned(t, n, spec)
				arrivals(counts, nil, func(order []int) {
					tried++
					if err := arrive(l, table.profiles, order); err != nil {
						t.Errorf("%v in order %v: %v", counts, order, err)
					}
				})
			}
			t.Logf("%d arrival orders", tried)
		})
	}
}

// arrivals calls f with every order in which the instances can be asked for.
func arrivals(counts, order []int, f func([]int)) {
	done := true
	for i := range counts {
		if counts[i] > 0 {
			done = false
			counts[i]--
			arrivals(counts, append(order, i), f)
			counts[i]++
		}
	}
	if done {
		f(order)
	}
}

// arrive gives each request the first slice of its set that can be had, and
// creates its instance at once.
func arrive(l gpu.Layout, profiles []gpu.Profile, order []int) error {
	held, b := map[gpu.SliceID]bool{}, &strictBoard{profiles: profiles}
	for _, i := range order {
		set, left := "s"+fmt.Sprint(profiles[i].ID), l.Remaining(held)
		k := slices.IndexFunc(l.Slices, func(s gpu.Slice) bool {
			_, ok := s.Fits(left)
			return s.Set == set && !held[s.ID] && ok
		})
		if k < 0 {
			return fmt.Errorf("no free slice of %s", set)
		}
		held[l.Slices[k].ID] = true
		if err := b.create(*l.Slices[k].MIG); err != nil {
			return err
		}
	}
	return nil
}

func TestTheOrderOfNamingDoesNotMatter(t *testing.T) {
	profiles := only(sevenOfEight(16.5), 19, 14, 9, 5)
	n := migNode(profiles)
	for _, counts := range exhaust(profiles).maximal {
		var first []gpu.Slice
		for _, order := range orders(len(counts)) {
			l, r := planned(t, n, fixed(profiles, counts, order))
			expectCounts(t, l, r, profiles, counts)
			slices.SortFunc(l.Slices, func(a, b gpu.Slice) int { return cmpString(string(a.ID), string(b.ID)) })
			if first == nil {
				first = l.Slices
			}
			if diff := cmp.Diff(first, l.Slices); diff != "" {
				t.Errorf("%v named in order %v: %s", counts, order, diff)
			}
		}
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
