// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"math"
	"testing"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestWhomAQuotaBinds(t *testing.T) {
	asks := small(1)
	for name, c := range map[string]struct {
		scope api.QuotaScope
		held  Claim
		asked Claim
		binds bool
	}{
		"project, same":              {ofProject("vision"), pod("a", "alice", asks), pod("b", "bob", asks), true},
		"project, held elsewhere":    {ofProject("vision"), pod("a", "alice", asks).in("audio"), pod("b", "alice", asks), false},
		"user, other project":        {ofUser("alice"), pod("a", "alice", asks).in("audio"), pod("b", "alice", asks), true},
		"user, other user":           {ofUser("alice"), pod("a", "alice", asks), pod("b", "bob", asks), false},
		"pair, same":                 {ofPair("vision", "alice"), pod("a", "alice", asks), pod("b", "alice", asks), true},
		"pair, other project":        {ofPair("vision", "alice"), pod("a", "alice", asks).in("audio"), pod("b", "alice", asks), false},
		"pair, other user":           {ofPair("vision", "alice"), pod("a", "bob", asks), pod("b", "bob", asks), false},
		"each, same":                 {ofEachUser("vision"), pod("a", "alice", asks), pod("b", "alice", asks), true},
		"each, other user":           {ofEachUser("vision"), pod("a", "alice", asks), pod("b", "bob", asks), false},
		"each, the project itself":   {ofEachUser("vision"), pod("a", "project:vision", asks), pod("b", "project:vision", asks), true},
		"each, project and a person": {ofEachUser("vision"), pod("a", "project:vision", asks), pod("b", "alice", asks), false},
		"nobody":                     {api.QuotaScope{}, pod("a", "", asks), pod("b", "", asks), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := bookOf(quotaOf("q", c.scope, sets("small", 1)))
			b.Charge(c.held, Within)
			if v := b.Check([]Claim{c.asked}); v.OK() == c.binds {
				t.Errorf("bound: %t, want %t", !v.OK(), c.binds)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	ws := api.TypeWorkspace
	for name, c := range map[string]struct {
		limits []limit
		asked  Claim // beside 2 small of a Job and 1 of a Workspace, 0.75 GPU
		want   string
	}{
		"nothing limited":       {nil, pod("x", "u", large(100)), "[Within]"},
		"last set":              {[]limit{sets("small", 4)}, pod("x", "u", small(1)), "[Within]"},
		"one too many":          {[]limit{sets("small", 4)}, pod("x", "u", small(2)), "q///small 3+0+2>4; "},
		"another set":           {[]limit{sets("small", 3)}, pod("x", "u", large(9)), "[Within]"},
		"none allowed":          {[]limit{sets("large", 0)}, pod("x", "u", large(1)), "q///large 0+0+1>0; "},
		"last unit":             {[]limit{gpus("1")}, pod("x", "u", small(1)), "[Within]"},
		"beyond by a unit":      {[]limit{gpus("0.99999")}, pod("x", "u", small(1)), "q/// 18900+0+6300>25199; "},
		"seventh of a GPU":      {[]limit{gpus("0.892")}, pod("x", "u", map[string]int64{"mig": 1}), "q/// 18900+0+3600>22478; "},
		"no GPU counts nothing": {[]limit{gpus("0")}, pod("x", "u", map[string]int64{"cpu": 50}), "[Within]"},
		"unknown size":          {[]limit{gpus("0")}, pod("x", "u", map[string]int64{"odd": 1}), "[Within]"},
		"type of its own":       {[]limit{only(ws, sets("small", 1))}, pod("x", "u", small(5)), "[Within]"},
		"type at its limit": {
			[]limit{only(ws, sets("small", 1)), sets("small", 9)}, pod("x", "u", small(1)).as(ws),
			"q//Workspace/small 1+0+1>1; ",
		},
		"type counts in the whole": {
			[]limit{only(ws, sets("small", 9)), sets("small", 3)}, pod("x", "u", small(1)).as(ws),
			"q///small 3+0+1>3; ",
		},
		"all that is short": {
			[]limit{only(ws, sets("small", 1), gpus("0.25")), sets("small", 3), gpus("0.75")}, pod("x", "u", small(1)).as(ws),
			"q///small 3+0+1>3; q/// 18900+0+6300>18900; q//Workspace/small 1+0+1>1; q//Workspace/ 6300+0+6300>6300; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := bookOf(quotaOf("q", ofProject("vision"), c.limits...))
			b.Charge(pod("a", "u", small(2)), Within)
			b.Charge(pod("b", "u", small(1)).as(ws), Within)
			want(t, "verdict", verdict(b.Check([]Claim{c.asked})), c.want)
		})
	}
}

func TestAllQuotasOrNone(t *testing.T) {
	b := bookOf(
		quotaOf("b-user", ofUser("alice"), sets("small", 1)),
		quotaOf("c-pair", ofPair("vision", "alice"), sets("small", 1)),
		quotaOf("d-each", ofEachUser("vision"), sets("small", 1)),
		quotaOf("e-project", ofProject("vision"), sets("small", 1)),
		quotaOf("f-roomy", ofProject("vision"), sets("small", 100)),
	)
	charged(t, b, pod("a", "alice", small(1)))
	got := b.Check([]Claim{pod("x", "alice", small(1))})
	want(t, "levels, projects first", verdict(got), "e-project///small 1+0+1>1; "+
		"c-pair/alice//small 1+0+1>1; d-each/alice//small 1+0+1>1; b-user/alice//small 1+0+1>1; ")
	for i, s := range got.Shortfalls {
		reason := api.ReasonUserQuotaReached
		if i == 0 {
			reason = api.ReasonProjectQuotaReached
		}
		want(t, s.Quota, s.Reason(), reason)
	}
}

func TestClaimsOfOneCheckSeeEachOther(t *testing.T) {
	b := bookOf(quotaOf("all", ofProject("vision"), sets("small", 4)), quotaOf("each", ofEachUser("vision"), sets("small", 2)))
	charged(t, b, pod("a", "alice", small(1)))
	for name, c := range map[string]struct {
		claims []Claim
		want   string
	}{
		"none":             {nil, "[]"},
		"a gang that fits": {[]Claim{pod("x", "bob", small(1)), pod("y", "bob", small(1))}, "[Within Within]"},
		"a person too many": {
			[]Claim{pod("x", "bob", small(1)), pod("y", "bob", small(1)), pod("z", "bob", small(1))},
			"each/bob//small 0+0+3>2; ",
		},
		"together too many": {
			[]Claim{pod("x", "bob", small(2)), pod("y", "carol", small(2))},
			"all///small 1+0+4>4; ",
		},
		"several people": {[]Claim{pod("x", "bob", small(2)), pod("y", "carol", small(1))}, "[Within Within]"},
	} {
		t.Run(name, func(t *testing.T) { want(t, "verdict", verdict(b.Check(c.claims)), c.want) })
	}
	s := b.Status("all")
	if got := s.Used.Sets["small"]; got != 1 {
		t.Errorf("after the checks %d sets are charged, want 1", got)
	}
}

func TestChargeTakesThePlaceOfTheSameUID(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 4)))
	b.Charge(pod("a", "alice", small(3)), Within)
	b.Charge(pod("a", "alice", small(3)), Within)
	b.Charge(pod("a", "bob", small(1)), Within)
	b.Release("unknown")
	want(t, "after three charges of one pod", verdict(b.Check([]Claim{pod("x", "u", small(4))})), "q///small 1+0+4>4; ")
	b.Release("a")
	b.Release("a")
	want(t, "after two releases", verdict(b.Check([]Claim{pod("x", "u", small(4))})), "[Within]")
}

func TestMinimumsAreReserved(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 4), gpus("1")))
	want(t, "the minimum fits", verdict(b.CheckFloor(floorOf(3, small(1)))), "[]")
	b.Reserve(floorOf(3, small(1)))
	want(t, "others see it", verdict(b.Check([]Claim{pod("x", "bob", small(2))})),
		"q///small 0+3+2>4; q/// 0+18900+12600>25200; ")
	b.Charge(pod("b", "bob", small(1)), Within)
	for _, uid := range []string{"s1", "s2", "s3"} {
		c := serve(uid, "r1", small(1))
		want(t, uid+" of the minimum", verdict(b.Check([]Claim{c})), "[Within]")
		b.Charge(c, Within)
	}
	want(t, "a fourth replica", verdict(b.Check([]Claim{serve("s4", "r1", small(1))})),
		"q///small 4+0+1>4; q/// 25200+0+6300>25200; ")
	b.Release("b")
	want(t, "a fourth with room", verdict(b.Check([]Claim{serve("s4", "r1", small(1))})), "[Headroom]")
	b.Release("s3")
	want(t, "a replica that is made again", verdict(b.Check([]Claim{serve("s5", "r1", small(1)), serve("s6", "r1", small(1))})),
		"[Within Headroom]")
	want(t, "raised", verdict(b.CheckFloor(floorOf(5, small(1)))), "q///small 2+1+2>4; q/// 12600+6300+12600>25200; ")
	b.Unreserve(floorOf(0, nil).Workload)
	b.Unreserve(floorOf(0, nil).Workload)
	want(t, "the minimum is given up", verdict(b.Check([]Claim{pod("x", "bob", small(2))})), "[Within]")
}

func TestAMinimumFitsEvenWhenTheLimitWasLowered(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", 1), sets("large", 0)))
	b.Reserve(floorOf(2, small(1)))
	b.Charge(serve("s1", "r1", small(1)), Within)
	want(t, "its second replica", verdict(b.Check([]Claim{serve("s2", "r1", small(1))})), "[Within]")
	want(t, "anybody else", verdict(b.Check([]Claim{pod("x", "bob", small(1))})), "q///small 1+1+1>1; ")
	want(t, "it is in nobody's way", verdict(b.Check([]Claim{serve("s2", "r1", small(1)), pod("x", "bob", large(1))})),
		"q///large 0+0+1>0; ")
}

func TestAnOperationWithoutMinimumHasNoHeadroom(t *testing.T) {
	b := bookOf()
	want(t, "without", verdict(b.Check([]Claim{serve("s1", "r1", small(1))})), "[Within]")
	b.Reserve(floorOf(0, small(1)))
	want(t, "with a minimum of none", verdict(b.Check([]Claim{serve("s1", "r1", small(1))})), "[Headroom]")
}

func TestLoweredQuotaEndsNothing(t *testing.T) {
	full := quotaOf("q", ofProject("vision"), sets("small", 4), only(api.TypeJob, sets("small", 3)))
	b := bookOf(full)
	charged(t, b, pod("a", "alice", small(3)))
	if over := b.Over("q"); len(over) != 0 {
		t.Fatalf("over before it was lowered: %+v", over)
	}
	low := bookOf(quotaOf("q", ofProject("vision"), sets("small", 2), only(api.TypeJob, sets("small", 1))))
	low.Charge(pod("a", "alice", small(3)), Within)
	want(t, "something new", verdict(low.Check([]Claim{pod("x", "bob", small(1)).as(api.TypeWorkspace)})), "q///small 3+0+1>2; ")
	want(t, "another set", verdict(low.Check([]Claim{pod("x", "bob", large(1))})), "[Within]")
	got := ""
	for _, x := range low.Over("q") {
		got += x.Sentence(nil) + "\n"
	}
	want(t, "over", got,
		"project vision has 3 of 2 sets small in use (quota q): nothing has to end, and nothing new fits until 1 is given back.\n"+
			"project vision has 3 of 1 set small in use by Jobs (quota q): nothing has to end, and nothing new fits until 2 are given back.\n")
	if s := low.Status("q"); s.Used.Sets["small"] != 3 || s.Used.Pods != 1 {
		t.Errorf("used %+v, want 3 small of 1 pod", s.Used)
	}
}

func TestNoOverflow(t *testing.T) {
	b := bookOf(quotaOf("q", ofProject("vision"), sets("small", math.MaxInt32), gpus("9E18")), quotaOf("odd", ofUser("bob"), gpus("1")))
	huge := map[string]int64{"small": math.MaxInt64, "large": math.MaxInt64}
	for _, n := range []int64{-1, 0} {
		want(t, "nothing asked for", verdict(b.Check([]Claim{pod("x", "bob", small(n))})), "[Within]")
	}
	var gang []Claim
	for i := range 1000 {
		c := pod("x", "alice", huge).named(string(rune('a' + i)))
		gang = append(gang, c)
		b.Charge(c, Within)
	}
	if v := b.Check(gang); v.OK() || v.Shortfalls[0].Used <= 0 || v.Shortfalls[0].Asked <= 0 {
		t.Errorf("a thousand times too much: %s", verdict(v))
	}
	b.Reserve(floorOf(math.MaxInt64, huge))
	b.Reserve(floorOf(math.MinInt64, huge))
	if s := b.Status("q"); s.Used.Sets["small"] != math.MaxInt32 || s.Used.GPU.Sign() <= 0 {
		t.Errorf("status %+v", s.Used)
	}
	for _, c := range gang {
		b.Release(c.UID)
	}
	want(t, "all is given back exactly", verdict(b.Check([]Claim{pod("x", "alice", small(math.MaxInt32))})), "[Within]")
	want(t, "an ask beyond all limits", verdict(b.Check([]Claim{pod("x", "bob", large(math.MaxInt64))})),
		"odd/bob// 0+0+1099511627776>25200; ")
}
