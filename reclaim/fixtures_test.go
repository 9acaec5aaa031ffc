// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "aipub.io/aipub/api/v1alpha1"
)

// noon is a Wednesday.
var noon = time.Date(2026, time.November, 18, 12, 0, 0, 0, time.UTC)

var alice = Who{User: "alice", Project: "vision"}

type option func(*api.ReclaimPolicySpec)

// policy binds everyone, warns 24 h, 1 h and 10 min before, and has 10 min of grace.
func policy(name string, options ...option) api.ReclaimPolicy {
	p := api.ReclaimPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Scope.Everyone = true
	warns(24*time.Hour, time.Hour, 10*time.Minute)(&p.Spec)
	for _, o := range options {
		o(&p.Spec)
	}
	return p
}

func hours(h int32) option { return func(s *api.ReclaimPolicySpec) { s.MaxOccupancyHours = h } }

func idle(minutes int32, signals ...api.IdleSignal) option {
	return func(s *api.ReclaimPolicySpec) { s.Idle = &api.IdleRule{AfterMinutes: minutes, Signals: signals} }
}

func grace(minutes int32) option {
	return func(s *api.ReclaimPolicySpec) { s.GraceMinutes = &minutes }
}

func warns(before ...time.Duration) option {
	return func(s *api.ReclaimPolicySpec) {
		s.WarnBefore = nil
		for _, b := range before {
			s.WarnBefore = append(s.WarnBefore, metav1.Duration{Duration: b})
		}
	}
}

func hushed(from, to, zone string, days ...api.Weekday) option {
	return func(s *api.ReclaimPolicySpec) {
		s.QuietHours = append(s.QuietHours, api.QuietHours{From: from, To: to, TimeZone: zone, Days: days})
	}
}

func extendable(hours int32) option {
	return func(s *api.ReclaimPolicySpec) { s.MaxExtensionHours = hours }
}

func scoped(project, user string) option {
	return func(s *api.ReclaimPolicySpec) { s.Scope = api.ReclaimScope{Project: project, User: user} }
}

func rulesOf(policies ...api.ReclaimPolicy) Rules { return Bind(policies, alice) }

// lab holds a set with one pod since noon.
func lab() Subject {
	return Subject{
		Workload: Workload{Kind: "Workspace", Namespace: "team", Name: "lab"},
		Pods:     []Holder{{UID: "a", Since: noon}},
	}
}

// watched is a Watch since a time, with the last use of the GPU; zero for none.
func watched(since, at, gpu time.Time) Watch {
	w := Watch{Since: since, At: at, Active: map[api.IdleSignal]time.Time{}}
	if !gpu.IsZero() {
		w.Active[api.IdleGPU] = gpu
	}
	return w
}
