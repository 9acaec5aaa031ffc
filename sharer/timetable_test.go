// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

const second = time.Second

func TestTimetableGivesEachItsGuarantee(t *testing.T) {
	table := Timetable([]Tenant{
		{ID: "single", Legs: []Leg{{"0", 250}}},
		{ID: "gang", Legs: []Leg{{"0", 500}, {"1", 500}}},
		{ID: "rest", Legs: []Leg{{"1", 500}}},
		{ID: "none", Legs: []Leg{{"1", 0}}},
	}, second)
	want := map[string][]Slot{
		"0": {{"gang", 0, second / 2}, {"single", second / 2, second / 4}},
		"1": {{"gang", 0, second / 2}, {"rest", second / 2, second / 2}},
	}
	if got := fmt.Sprint(table); got != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestTimetableShortensWhatCannotBeAligned(t *testing.T) {
	// Three gangs of 0.5 in a triangle: each GPU has room for two of them, but the
	// third would have to run on one GPU before, on the other after its peers.
	table := Timetable([]Tenant{
		{ID: "ab", Legs: []Leg{{"a", 500}, {"b", 500}}},
		{ID: "bc", Legs: []Leg{{"b", 500}, {"c", 500}}},
		{ID: "ca", Legs: []Leg{{"a", 500}, {"c", 500}}},
	}, second)
	for gpu, slots := range table {
		for _, s := range slots {
			if s.Tenant == "ca" {
				t.Errorf("GPU %s: ca has %v, where no aligned window exists", gpu, s)
			}
		}
	}
}

func TestTimetableNeverOverlapsAndAlignsGangs(t *testing.T) {
	for seed := range uint64(2000) {
		tenants := randomTenants(rand.New(rand.NewPCG(seed, 0)), 4, 8)
		offsets := map[TenantID]time.Duration{}
		for gpu, slots := range Timetable(tenants, second) {
			end := time.Duration(0)
			for _, s := range slots {
				if s.Offset < end || s.Offset+s.Length > second || s.Length <= 0 {
					t.Fatalf("seed %d, GPU %s: %v overlaps or leaves the period", seed, gpu, slots)
				}
				end = s.Offset + s.Length
				if o, ok := offsets[s.Tenant]; ok && o != s.Offset {
					t.Fatalf("seed %d: %s starts at %v and at %v", seed, s.Tenant, o, s.Offset)
				}
				offsets[s.Tenant] = s.Offset
			}
		}
	}
}

// randomTenants fills GPUs with up to so many tenants, some on several GPUs.
func randomTenants(r *rand.Rand, gpus, most int) []Tenant {
	left := make([]int, gpus)
	for i := range left {
		left[i] = 1000
	}
	var tenants []Tenant
	for i := range 1 + r.IntN(most) {
		x := Tenant{ID: TenantID(fmt.Sprint("t", i)), Lend: r.IntN(4) > 0, Borrow: r.IntN(4) > 0}
		if r.IntN(4) == 0 {
			x.MaxPermille = 1 + r.IntN(1000)
		}
		permille := 10 + r.IntN(500)
		for g := range gpus {
			if r.IntN(gpus) < 2 && left[g] >= permille {
				left[g] -= permille
				x.Legs = append(x.Legs, Leg{fmt.Sprint(g), permille})
			}
		}
		if len(x.Legs) > 0 {
			tenants = append(tenants, x)
		}
	}
	return tenants
}
