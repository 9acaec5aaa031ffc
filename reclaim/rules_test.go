// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestWhomAPolicyBinds(t *testing.T) {
	names := []string{"", "vision", "audio"}
	users := []string{"", "alice", "bob"}
	for _, project := range names {
		for _, user := range users {
			for _, everyone := range []bool{false, true} {
				p := policy("p", hours(1))
				p.Spec.Scope = api.ReclaimScope{Project: project, User: user, Everyone: everyone}
				want := project != "audio" && user != "bob" && (project != "" || user != "")
				if everyone {
					want = project == "" && user == ""
				}
				if got := rulesOf(p).Limit > 0; got != want {
					t.Errorf("%+v binds alice of vision: %v", p.Spec.Scope, got)
				}
			}
		}
	}
}

func TestTheStrictestOfEachRuleWins(t *testing.T) {
	small, large := resource.MustParse("1Gi"), resource.MustParse("30Gi")
	r := rulesOf(
		policy("everyone", hours(72), idle(600), extendable(24), func(s *api.ReclaimPolicySpec) { s.MaxSaveSize = &large }),
		policy("vision", hours(0), idle(60, api.IdleGPU), scoped("vision", ""), func(s *api.ReclaimPolicySpec) { s.Save = api.SaveCommit }),
		policy("alice", hours(24), grace(30), warns(2*time.Hour), scoped("", "alice"), extendable(8), func(s *api.ReclaimPolicySpec) { s.MaxSaveSize = &small }),
		policy("bob", hours(1), scoped("", "bob")),
		policy("saves", extendable(0), func(s *api.ReclaimPolicySpec) { s.Notify = &api.NotifyURL{URL: "http://hook"} }))
	if r.Limit != 24*time.Hour || r.LimitTerms.Policy != "alice" || r.LimitTerms.Grace != 30*time.Minute || len(r.LimitTerms.Warn) != 1 {
		t.Errorf("limit %v %+v", r.Limit, r.LimitTerms)
	}
	if r.Idle.After != time.Hour || len(r.Idle.Signals) != 1 || r.IdleTerms.Policy != "vision" || r.IdleTerms.Grace != 10*time.Minute {
		t.Errorf("idle %+v %+v", r.Idle, r.IdleTerms)
	}
	if r.Save != api.SaveCommit || r.SavePolicy != "vision" || r.MaxSaveBytes != 1<<30 || r.MaxSavePolicy != "alice" {
		t.Errorf("save %+v", r)
	}
	if r.Extension != 0 || r.ExtensionPolicy != "vision" {
		t.Errorf("extension %v by %s; a policy that limits nothing does not count", r.Extension, r.ExtensionPolicy)
	}
}

func TestNoOrderOfPoliciesMatters(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		var ps []api.ReclaimPolicy
		least, leastIdle := int32(0), int32(0)
		for i := range random.IntN(5) {
			h, m := choose[int32](random, 0, 1, 1, 24, 99_999), choose[int32](random, 0, 5, 5, 60)
			p := policy(string(rune('a'+i)), hours(h))
			if m > 0 {
				idle(m)(&p.Spec)
			}
			if h > 0 && (least == 0 || h < least) {
				least = h
			}
			if m > 0 && (leastIdle == 0 || m < leastIdle) {
				leastIdle = m
			}
			ps = append(ps, p)
		}
		r := rulesOf(ps...)
		if r.Limit != time.Duration(least)*time.Hour || r.Idle.After != time.Duration(leastIdle)*time.Minute {
			t.Fatalf("limit %v, idle %v; want %d h, %d min", r.Limit, r.Idle.After, least, leastIdle)
		}
		random.Shuffle(len(ps), func(i, j int) { ps[i], ps[j] = ps[j], ps[i] })
		if again := rulesOf(ps...); again.LimitTerms.Policy != r.LimitTerms.Policy || again.IdleTerms.Policy != r.IdleTerms.Policy || again.ExtensionPolicy != r.ExtensionPolicy {
			t.Fatal("in another order another policy is named")
		}
	}
}

func TestAPolicyThatIsWrongBindsNobodyAndSaysWhy(t *testing.T) {
	for want, o := range map[string]option{
		"spec.quietHours[0].timeZone: \"Mars/Base\"":        hushed("22:00", "06:00", "Mars/Base"),
		"spec.quietHours: they leave no time of the week":   hushed("08:00", "08:00", ""),
		"spec.maxOccupancyHours: 100000 is not allowed":     hours(100_000),
		"spec.maxOccupancyHours: -1 is not allowed":         hours(-1),
		"spec.maxExtensionHours: 100000 is not allowed":     extendable(100_000),
		"spec.idle.afterMinutes: 0 is not allowed":          idle(0),
		"spec.graceMinutes: -1 is not allowed":              grace(-1),
		"spec.warnBefore[1]: -1s is not allowed; give 1s t": warns(time.Hour, -time.Second),
	} {
		p := policy("p", hours(1))
		o(&p.Spec)
		if err := Check(p.Spec); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if r := rulesOf(p); r.Limited() {
			t.Errorf("%s: it binds all the same", want)
		}
	}
	if err := Check(policy("p", hours(99_999), idle(525_600), grace(10_080), hushed("22:00", "06:00", "Asia/Seoul")).Spec); err != nil {
		t.Error(err)
	}
}
