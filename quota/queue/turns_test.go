// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
	"aipub.io/aipub/quota"
)

// job makes the item of a Job; its UID is its name.
func job(project, name string, created int64, marks ...string) Item {
	it := Item{
		Workload: quota.Workload{Group: "batch", Kind: "Job", Namespace: project, Name: name, UID: name},
		Party:    quota.Party{Project: project, User: "ann", Type: api.TypeJob},
		Created:  time.Unix(created, 0),
	}
	for _, m := range marks {
		kind, key, _ := strings.Cut(m, "=")
		if kind == "promoted" {
			it.Promoted = key
		} else {
			it.Rank = key
		}
	}
	return it
}

func names(items []Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Workload.Name)
	}
	return strings.Join(out, " ")
}

func plain(string) Settings { return Settings{} }
func unused(string) float64 { return 0 }

func TestOrderOfOneProject(t *testing.T) {
	items := []Item{
		job("vision", "late", 30),
		job("vision", "early", 10),
		job("vision", "ranked-first", 40, "rank=00000000005"),
		job("vision", "promoted-second", 50, "promoted=hh"),
		job("vision", "promoted-first", 60, "promoted=hg", "rank=z"),
		job("vision", "same-time-b", 20),
		job("vision", "same-time-a", 20),
	}
	const want = "promoted-first promoted-second ranked-first early same-time-a same-time-b late"
	for range 20 {
		rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		Sort(items)
		if got := names(items); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestCompareIsATotalOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var items []Item
	for i := range 60 {
		items = append(items, randomItem(random, i, 2))
	}
	for _, a := range items {
		for _, b := range items {
			ab := Compare(a, b)
			if ab != -Compare(b, a) || (ab == 0) != (a.Workload == b.Workload) {
				t.Fatalf("%+v and %+v: %d and %d", a, b, ab, Compare(b, a))
			}
			for _, c := range items {
				if ab <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
					t.Fatalf("not transitive:\n%+v\n%+v\n%+v", a, b, c)
				}
			}
		}
	}
}

// randomItem has few distinct times and keys, so that ties are common; some UIDs
// are not made of the alphabet.
func randomItem(random *rand.Rand, i, projects int) Item {
	uid := fmt.Sprintf([]string{"%d", "U%d", "%d-"}[random.IntN(3)], i)
	it := job(fmt.Sprintf("p%d", random.IntN(projects)), uid, 100+random.Int64N(4))
	if random.IntN(3) == 0 {
		it.Rank = DefaultKey(time.Unix(100+random.Int64N(4), 0), "0")
	}
	if random.IntN(6) == 0 {
		it.Promoted = []string{"a", "b"}[random.IntN(2)]
	}
	return it
}

func TestTurnsAmongProjects(t *testing.T) {
	settings := func(p string) Settings {
		return Settings{Priority: map[string]int32{"urgent": 5, "idle": -5}[p]}
	}
	used := map[string]float64{"vision": 0.5, "nlp": 0.25}
	turns := NewTurns([]Item{
		job("vision", "v1", 1), job("vision", "v2", 2),
		job("nlp", "n1", 3), job("nlp", "n2", 4), job("nlp", "n3", 5),
		job("urgent", "u1", 9),
		job("idle", "i1", 0), job("idle", "i2", 9, "promoted=b"),
		job("nlp", "n4", 9, "promoted=a"),
	}, settings, func(p string) float64 { return used[p] })
	var got []string
	for it, ok := turns.Next(); ok; it, ok = turns.Next() {
		got = append(got, it.Workload.Name)
		used[it.Party.Project] += 0.25
	}
	// n4 makes nlp as busy as vision, so the older v1 goes; then both have 0.75.
	const want = "n4 i2 u1 v1 n1 v2 n2 n3 i1"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
}

func TestSkipEndsAProject(t *testing.T) {
	turns := NewTurns([]Item{job("a", "a1", 1), job("b", "b1", 2), job("a", "a2", 3), job("a", "a3", 4), job("b", "b2", 5)}, plain, unused)
	first, _ := turns.Next()
	turns.Skip("a")
	turns.Skip("a")
	turns.Skip("nobody")
	second, _ := turns.Next()
	third, _ := turns.Next()
	turns.Skip("b") // has none left
	if _, more := turns.Next(); more {
		t.Error("there is more after the last")
	}
	if got := names([]Item{first, second, third}); got != "a1 b1 b2" {
		t.Errorf("got %s", got)
	}
	if got := names(turns.Rest("a")); got != "a2 a3" {
		t.Errorf("the rest of a is %q", got)
	}
	if got := names(turns.Rest("b")) + names(turns.Rest("nobody")); got != "" {
		t.Errorf("the rest of b and nobody is %q", got)
	}
}

// TestTurnsAreThoseOfTheRule compares with the rule carried out naively, over
// random items, loads that rise, and projects that are skipped.
func TestTurnsAreThoseOfTheRule(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 5))
		var left []Item
		for i := range 40 {
			left = append(left, randomItem(random, i, 5))
		}
		loads := map[string]float64{}
		load := func(p string) float64 { return loads[p] }
		settings := func(p string) Settings { return Settings{Priority: int32(p[1]-'0') / 2} }
		turns := NewTurns(slices.Clone(left), settings, load)
		for {
			got, ok := turns.Next()
			if ok != (len(left) > 0) {
				t.Fatalf("seed %d: more is %v, and %d are left", seed, ok, len(left))
			}
			if !ok {
				break
			}
			want := slices.MinFunc(left, func(a, b Item) int {
				pa, pb := a.Party.Project, b.Party.Project
				if a.Promoted != "" || b.Promoted != "" || pa == pb {
					return Compare(a, b)
				}
				return cmp.Or(cmp.Compare(settings(pb).Priority, settings(pa).Priority), cmp.Compare(loads[pa], loads[pb]), headFirst(left, pa, pb))
			})
			if got.Workload != want.Workload {
				t.Fatalf("seed %d: got %+v, want %+v", seed, got, want)
			}
			p := got.Party.Project
			left = slices.DeleteFunc(left, func(it Item) bool { return it.Workload == got.Workload })
			loads[p] += float64(random.IntN(3)) / 4
			if random.IntN(10) == 0 {
				turns.Skip(p)
				left = slices.DeleteFunc(left, func(it Item) bool { return it.Party.Project == p })
			}
		}
	}
}

// headFirst compares the first items of two projects.
func headFirst(items []Item, a, b string) int {
	head := func(p string) Item {
		return slices.MinFunc(slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Party.Project != p }), Compare)
	}
	return Compare(head(a), head(b))
}

func TestSettingsOf(t *testing.T) {
	zero := int32(0)
	for name, tc := range map[string]struct {
		queue *api.PriorityQueue
		want  Settings
	}{
		"none":  {nil, Settings{api.FirstAllocating, 0, 10 * time.Minute}},
		"empty": {&api.PriorityQueue{}, Settings{api.FirstAllocating, 0, 10 * time.Minute}},
		"all": {&api.PriorityQueue{Spec: api.PriorityQueueSpec{Policy: api.FirstScheduling, Priority: 7, PatienceSeconds: &zero}},
			Settings{api.FirstScheduling, 7, 0}},
	} {
		if got := SettingsOf(tc.queue); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tc.want)
		}
	}
}
