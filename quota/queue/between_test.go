// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"aipub.io/aipub/quota"
)

func TestBetweenKeysThatPeopleWouldWrite(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"both ends open":              {"", "", "hh"},
		"after the last":              {"hh", "", "hi"},
		"before the first":            {"", "hh", "hg"},
		"in a fresh gap":              {"a", "c", "b-0"},
		"beside the one that came":    {"ahh", "c", "ahi"},
		"beside it on the other side": {"a", "ahh", "ahg"},
		"between neighbours":          {"ahh", "ahi", "ahhhh"},
		"carries":                     {"azz", "c", "b-0"},
		"the very first is taken":     {"", "0", "-hh"},
		"the very last is taken":      {"zz", "", "zzhhhh"},
		"a prefix":                    {"a", "a0", "a-hh"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Between(tc.before, tc.after)
			if err != nil {
				t.Fatal(err)
			}
			checkBetween(t, tc.before, got, tc.after)
			if got != tc.want {
				t.Errorf("between %q and %q is %q, want %q", tc.before, tc.after, got, tc.want)
			}
		})
	}
}

func checkBetween(t *testing.T, before, got, after string) {
	t.Helper()
	if err := CheckKey(got); err != nil {
		t.Fatalf("between %q and %q: %v", before, after, err)
	}
	if got <= before || after != "" && got >= after {
		t.Fatalf("%q does not sort between %q and %q", got, before, after)
	}
	if most := max(len(before), len(after)) + 4; len(got) > most {
		t.Fatalf("%q is longer than %d", got, most)
	}
}

func TestBetweenRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"the same":          {"a", "a", "no room"},
		"wrong order":       {"b", "a", "wrong order"},
		"capitals":          {"A", "", `"A" has a character that keys do not have at position 1`},
		"lowest at the end": {"", "a-", `ends in "-"`},
		"too long":          {strings.Repeat("a", MaxKey+1), "", "1025 characters long; it may have 1024"},
		"no more room":      {strings.Repeat("a", MaxKey), strings.Repeat("a", MaxKey-1) + "b", "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Between(tc.before, tc.after); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

func FuzzBetween(f *testing.F) {
	for _, s := range [][2]string{{"", ""}, {"a", "b"}, {"", "-0"}, {"z", ""}, {"hh", "hi"}, {"a", "a--------0"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		got, err := Between(before, after)
		if err == nil {
			checkBetween(t, before, got, after)
			return
		}
		valid := func(k string) bool { return k == "" || CheckKey(k) == nil }
		if valid(before) && valid(after) && (after == "" || before < after) && max(len(before), len(after)) <= MaxKey-4 {
			t.Errorf("between %q and %q: %v", before, after, err)
		}
	})
}

// TestTenThousandMovesToTheSamePlace asserts the figures in the package comment.
func TestTenThousandMovesToTheSamePlace(t *testing.T) {
	first := DefaultKey(time.Unix(1772443800, 0), "0b6dbd0b-64a5-4d83-a0e8-b1b1b0c3f111")
	second := DefaultKey(time.Unix(1772443801, 0), "3c1b8ae5-9f2f-4a58-8a3e-3e8f8f3a2222")
	for name, tc := range map[string]struct {
		before, after string
		fixed         func(before, after *string, made string)
		most          int
	}{
		"before the same one":    {first, second, func(before, _ *string, made string) { *before = made }, len(first) + 6},
		"behind the same one":    {first, second, func(_, after *string, made string) { *after = made }, len(first) + 6},
		"to the front":           {"", second, func(_, after *string, made string) { *after = made }, len(first)},
		"to the end":             {first, "", func(before, _ *string, made string) { *before = made }, len(first)},
		"promoted to the front":  {"", "", func(_, after *string, made string) { *after = made }, 6},
		"between the last two":   {first, second, zigzag(), MaxKey},
		"at random between them": {first, second, atRandom(), len(first) + 40},
	} {
		t.Run(name, func(t *testing.T) {
			before, after, longest := tc.before, tc.after, 0
			for i := range 10_000 {
				made, err := Between(before, after)
				if errors.Is(err, ErrNoRoom) && tc.most == MaxKey {
					if i < 900 {
						t.Errorf("the room was used up after %d moves", i)
					}
					t.Logf("the room was used up after %d moves", i)
					return
				}
				if err != nil {
					t.Fatalf("move %d: %v", i, err)
				}
				checkBetween(t, before, made, after)
				longest = max(longest, len(made))
				tc.fixed(&before, &after, made)
			}
			t.Logf("the longest key has %d characters, default keys have %d", longest, len(first))
			if longest > tc.most {
				t.Errorf("the longest key has %d characters, want at most %d", longest, tc.most)
			}
		})
	}
}

func zigzag() func(before, after *string, made string) {
	left := false
	return func(before, after *string, made string) {
		if left = !left; left {
			*before = made
		} else {
			*after = made
		}
	}
}

// atRandom moves to a place chosen at random among all keys so far.
func atRandom() func(before, after *string, made string) {
	random := rand.New(rand.NewPCG(1, 2))
	var keys []string
	return func(before, after *string, made string) {
		if keys == nil {
			keys = []string{*before, *after}
		}
		i, _ := slices.BinarySearch(keys, made)
		keys = slices.Insert(keys, i, made)
		i = random.IntN(len(keys) - 1)
		*before, *after = keys[i], keys[i+1]
	}
}

func TestDefaultKeysSortByTimeThenUID(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	keys := []string{
		DefaultKey(time.Time{}, "a"),
		DefaultKey(at(9), "b"),
		DefaultKey(at(10), "a"),
		DefaultKey(at(10), "b"),
		DefaultKey(at(99_999_999_999), "a"),
	}
	if !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("not in order: %q", keys)
	}
	for _, uid := range []string{"", "A", "ends-in-", "0b6dbd0b-64a5-4d83-a0e8-b1b1b0c3f111", "\x00"} {
		if err := CheckKey(DefaultKey(at(1), uid)); err != nil {
			t.Errorf("UID %q: %v", uid, err)
		}
	}
}

// FuzzStart holds the numbers that order keys quickly against the order of strings.
func FuzzStart(f *testing.F) {
	for _, s := range [][2]string{{"", "-"}, {"9z", "A"}, {"a", "b"}, {"a-", "a"}, {",", "-"}, {"0123456789ab", "0123456789abc"}, {"0123456789abcdefghijklmn-", "0123456789abcdefghijklmn"}, {"a\xff", "b"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Item{Rank: a, Workload: quota.Workload{UID: "x"}}, Item{Rank: b, Workload: quota.Workload{UID: "y"}}
		want := cmp.Or(strings.Compare(x.Key(), y.Key()), -1)
		if Compare(x, y) != want || Compare(y, x) != -want {
			t.Errorf("%q to %q: %d, and back %d; want %d", a, b, Compare(x, y), Compare(y, x), want)
		}
	})
}

func TestADefaultKeyStartsAsItsNumberSays(t *testing.T) {
	for _, s := range []int64{0, 7, 1_772_443_800, 99_999_999_999} {
		key := DefaultKey(time.Unix(s, 0), "3c1b8ae5-64a5")
		if want, ok := startOf(key); !ok || startOfSeconds(s) != want {
			t.Errorf("%s: %d, want %d", key, startOfSeconds(s), want)
		}
	}
	moved, made := Item{Rank: "00000000007"}, Item{Created: time.Unix(7, 0), Workload: quota.Workload{UID: "a"}}
	if Compare(moved, made) != -1 || Compare(made, moved) != 1 {
		t.Error("a key that another one begins with goes first")
	}
}
