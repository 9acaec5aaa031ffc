// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"math/rand/v2"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestTakingAnExtensionBackAndAddingItAgainGainsNothing(t *testing.T) {
	began := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	const minute = 60
	for name, c := range map[string]struct {
		totals []int64 // each ten minutes
		until  time.Duration
	}{
		"added":                           {[]int64{60 * minute}, 60 * time.Minute},
		"taken back":                      {[]int64{60 * minute, 0}, 0},
		"and added again":                 {[]int64{60 * minute, 0, 60 * minute}, 70 * time.Minute},
		"and again":                       {[]int64{60 * minute, 0, 60 * minute, 0, 60 * minute}, 80 * time.Minute},
		"at once":                         {[]int64{60 * minute, 60 * minute, 0, 60 * minute}, 70 * time.Minute},
		"with more":                       {[]int64{60 * minute, 0, 90 * minute}, 100 * time.Minute},
		"more while it runs":              {[]int64{60 * minute, 120 * minute}, 70 * time.Minute},
		"half of it is taken back":        {[]int64{60 * minute, 30 * minute}, 30 * time.Minute},
		"half, and added again":           {[]int64{60 * minute, 30 * minute, 60 * minute}, 50 * time.Minute},
		"what is used up":                 {[]int64{20 * minute, 20 * minute, 20 * minute, 0, 20 * minute}, 40 * time.Minute},
		"what is used up, and a bit more": {[]int64{20 * minute, 20 * minute, 20 * minute, 0, 25 * minute}, 45 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var o api.Occupancy
			now := began
			for i, total := range c.totals {
				now = began.Add(time.Duration(i) * 10 * time.Minute)
				extend(&o, total, "kim", now)
				if extended(o) != total {
					t.Fatalf("added in all %d s, want %d", extended(o), total)
				}
			}
			until := kept(o)
			if c.until == 0 && until.After(now) || c.until != 0 && !until.Equal(began.Add(c.until)) {
				t.Errorf("kept until %s after its begin, want %s: %+v", until.Sub(began), c.until, o)
			}
			run(&o, nil, now, now)
			if !kept(o).Equal(until) {
				t.Error("its pod was deleted, and that changed it")
			}
		})
	}
}

// TestExtensionsGainNoMoreThanTheMostThatWasAdded adds and takes back at random, in many
// small steps as well, and counts for how long that keeps something idle.
func TestExtensionsGainNoMoreThanTheMostThatWasAdded(t *testing.T) {
	gainedAny := false
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var o api.Occupancy
		total, most := int64(0), int64(0)
		gained := time.Duration(0)
		now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
		for range 400 {
			switch r.IntN(5) {
			case 0:
				total = 0
			case 1:
				total = r.Int64N(4 * 3600)
			case 2, 3:
				total++
			}
			most = max(most, total)
			extend(&o, total, "kim", now)
			if extended(o) != total || len(o.Extensions) > maxExtensions {
				t.Fatalf("seed %d: %d s in %d extensions, want %d s", seed, extended(o), len(o.Extensions), total)
			}
			step := time.Duration(r.IntN(1800)) * time.Second
			if left := kept(o).Sub(now); left > 0 {
				gained += min(step, left)
			}
			now = now.Add(step)
		}
		gainedAny = gainedAny || gained > 0
		if gained > time.Duration(most)*time.Second {
			t.Fatalf("seed %d: kept it for %s, and at most %d s were added: %+v", seed, gained, most, o)
		}
	}
	if !gainedAny {
		t.Fatal("no extension kept anything")
	}
}

func TestManySmallExtensionsMoveNoLargeOne(t *testing.T) {
	var o api.Occupancy
	began := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	total := int64(8 * 3600)
	extend(&o, total, "kim", began)
	late := began.Add(7 * time.Hour)
	for range 2 * maxExtensions {
		total++
		extend(&o, total, "kim", late)
	}
	if len(o.Extensions) != maxExtensions || extended(o) != total {
		t.Fatalf("%d s in %d extensions, want %d s", extended(o), len(o.Extensions), total)
	}
	if got, want := kept(o), began.Add(8*time.Hour); !got.Equal(want) {
		t.Errorf("kept until %s, want %s", got, want)
	}
	extend(&o, 0, "kim", late)
	extend(&o, total, "kim", late)
	if got, most := kept(o), began.Add(8*time.Hour+2*maxExtensions*time.Second); got.After(most) {
		t.Errorf("taken back and added again it is kept until %s, at most %s", got, most)
	}
}
