// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"aipub.io/aipub/quota"
)

func queueOf(items ...Item) []Item {
	Sort(items)
	return items
}

// after is the order once an effect was written to the workload.
func after(order []Item, what quota.Workload, e Effect) []Item {
	out := slices.Clone(order)
	i := slices.IndexFunc(out, func(it Item) bool { return it.Workload == what })
	out[i].Rank, out[i].Promoted = e.Rank, e.Promoted
	Sort(out)
	return out
}

func named(order []Item, name string) quota.Workload {
	for _, it := range order {
		if it.Workload.Name == name {
			return it.Workload
		}
	}
	return quota.Workload{Namespace: "vision", Kind: "Job", Name: name}
}

func TestMoves(t *testing.T) {
	order := queueOf(job("vision", "a", 1), job("vision", "b", 2), job("vision", "c", 3), job("vision", "d", 4))
	promoted := queueOf(job("vision", "p", 9, "promoted=hh"), job("vision", "q", 9, "promoted=hi"), job("vision", "a", 1), job("vision", "b", 2))
	for name, tc := range map[string]struct {
		order   []Item
		what    string
		before  string
		to      int
		want    string
		delayed string
	}{
		"before another":                 {order: order, what: "d", before: "b", want: "a d b c", delayed: "b c"},
		"before one behind it":           {order: order, what: "a", before: "d", want: "b c a d", delayed: "a"},
		"where it is":                    {order: order, what: "a", before: "b", want: "a b c d"},
		"before itself":                  {order: order, what: "b", before: "b", want: "a b c d"},
		"to the front":                   {order: order, what: "c", to: 1, want: "c a b d", delayed: "a b"},
		"to the end":                     {order: order, what: "a", to: 4, want: "b c d a", delayed: "a"},
		"to where it is":                 {order: order, what: "c", to: 3, want: "a b c d"},
		"before the first promoted":      {order: promoted, what: "b", before: "p", want: "b p q a", delayed: "p q a"},
		"between the promoted":           {order: promoted, what: "a", before: "q", want: "p a q b", delayed: "q"},
		"behind the promoted":            {order: promoted, what: "b", before: "a", want: "p q b a", delayed: "a"},
		"promoted, behind the promoted":  {order: promoted, what: "p", to: 2, want: "q p a b", delayed: "p"},
		"promoted, among those who wait": {order: promoted, what: "p", before: "b", want: "q a p b", delayed: "p"},
		"promoted, to the end":           {order: promoted, what: "q", to: 4, want: "p a b q", delayed: "q"},
		"alone":                          {order: order[:1], what: "a", to: 1, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			what := named(tc.order, tc.what)
			e, err := MoveTo(tc.order, what, tc.to)
			if tc.before != "" {
				e, err = MoveBefore(tc.order, what, named(tc.order, tc.before))
			}
			if err != nil {
				t.Fatal(err)
			}
			now := after(tc.order, what, e)
			if got := names(now); got != tc.want {
				t.Errorf("the order is %s, want %s (%+v)", got, tc.want, e)
			}
			if got := names(e.Delayed); got != tc.delayed {
				t.Errorf("delayed are %q, want %q", got, tc.delayed)
			}
			if now[e.To-1].Workload != what || tc.order[e.From-1].Workload != what {
				t.Errorf("from %d to %d is not where it was and is", e.From, e.To)
			}
		})
	}
}

func TestMovesThatKeepAPromotionOnlyWhereTheyMust(t *testing.T) {
	order := queueOf(job("vision", "p", 9, "promoted=hh"), job("vision", "q", 9, "promoted=hi"), job("vision", "a", 1), job("vision", "b", 2))
	for _, tc := range []struct {
		what string
		to   int
		want bool
	}{{"b", 1, true}, {"b", 2, true}, {"b", 3, false}, {"p", 2, true}, {"p", 3, false}, {"p", 4, false}} {
		e, err := MoveTo(order, named(order, tc.what), tc.to)
		if err != nil || (e.Promoted != "") != tc.want {
			t.Errorf("%s to %d: promoted %q, %v; want promoted %v", tc.what, tc.to, e.Promoted, err, tc.want)
		}
	}
}

func TestPromote(t *testing.T) {
	settings := func(p string) Settings { return Settings{Priority: map[string]int32{"urgent": 9}[p]} }
	all := Order([]Item{job("urgent", "u", 5), job("vision", "a", 1), job("vision", "b", 2), job("nlp", "n", 3, "promoted=hh")}, settings, unused)
	if got := names(all); got != "n u a b" {
		t.Fatalf("the order is %s", got)
	}
	for what, delayed := range map[string]string{"b": "n u a", "a": "n u", "u": "n", "n": ""} {
		e, err := Promote(all, named(all, what))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(it Item) bool { return it.Workload.Name == what })
		changed := slices.Clone(all)
		changed[i].Promoted = e.Promoted
		now := Order(changed, settings, unused)
		if now[0].Workload.Name != what || e.To != 1 || e.From != i+1 || names(e.Delayed) != delayed {
			t.Errorf("%s: the order is %s, the effect %+v", what, names(now), e)
		}
		if again, err := Promote(now, named(all, what)); err != nil || again.Promoted != e.Promoted || len(again.Delayed) > 0 {
			t.Errorf("%s: again: %+v, %v", what, again, err)
		}
	}
	first := []Item{job("vision", "a", 1)}
	if e, err := Promote(first, first[0].Workload); err != nil || e.Promoted == "" {
		t.Errorf("who stands first in one project is not promoted: %+v, %v", e, err)
	}
}

func TestMovesThatCannotBe(t *testing.T) {
	order := queueOf(job("vision", "a", 1, "rank=aa"), job("vision", "b", 2, "rank=aa"), job("vision", "c", 3, "rank=B"), job("vision", "d", 4, "rank=c"))
	at := func(name string) quota.Workload { return named(order, name) }
	for name, tc := range map[string]struct {
		move func() (Effect, error)
		want string
	}{
		"the same rank":       {func() (Effect, error) { return MoveBefore(order, at("d"), at("b")) }, `between those of vision/Job/a ("aa") and vision/Job/b ("aa"); move one of the two first`},
		"a rank that is none": {func() (Effect, error) { return MoveBefore(order, at("d"), at("c")) }, `"B" has a character that keys do not have`},
		"no such place":       {func() (Effect, error) { return MoveTo(order, at("d"), 5) }, "position 5 does not exist: the queue has 1 to 4"},
		"place 0":             {func() (Effect, error) { return MoveTo(order, at("d"), 0) }, "position 0 does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := tc.move(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %+v, %v; want %q", e, err, tc.want)
			}
		})
	}
	// One of the two moved first, as the sentence says, makes room.
	e, err := MoveBefore(order, at("a"), at("b"))
	if err != nil {
		t.Fatal(err)
	}
	var gone *NotWaitingError
	for _, try := range []func() (Effect, error){
		func() (Effect, error) { return MoveBefore(order, at("x"), at("a")) },
		func() (Effect, error) { return MoveBefore(order, at("a"), at("x")) },
		func() (Effect, error) { return MoveTo(order, at("x"), 1) },
		func() (Effect, error) { return Promote(order, at("x")) },
	} {
		if _, err := try(); !errors.As(err, &gone) || gone.Workload.Name != "x" {
			t.Errorf("got %v", err)
		}
	}
	_ = e
}

// TestRandomMovesDoWhatTheySay moves at random, and checks after each move that
// the one moved stands where the effect says and nobody else changed places.
func TestRandomMovesDoWhatTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	var order []Item
	for i := range 30 {
		order = append(order, job("vision", string(rune('a'+i%26))+string(rune('a'+i/26)), 100+random.Int64N(5)))
	}
	Sort(order)
	for i := range 2000 {
		what, to := order[random.IntN(len(order))].Workload, 1+random.IntN(len(order))
		var e Effect
		var err error
		switch random.IntN(4) {
		case 0:
			e, err = Promote(order, what)
			to = 1
		case 1:
			target := order[to-1].Workload
			e, err = MoveBefore(order, what, target)
			to = e.To
		default:
			e, err = MoveTo(order, what, to)
		}
		if err != nil {
			t.Fatalf("move %d: %v", i, err)
		}
		want := slices.Clone(order)
		it := want[e.From-1]
		want = slices.Insert(slices.Delete(want, e.From-1, e.From), to-1, it)
		now := after(order, what, e)
		if names(now) != names(want) || it.Workload != what || e.To != to {
			t.Fatalf("move %d, %+v:\ngot  %s\nwant %s", i, e, names(now), names(want))
		}
		order = now
	}
}
