// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"cmp"
	"slices"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

// Who is bound: the user and the project that a workload is charged to.
type Who struct{ User, Project string }

// Terms are how a policy's deadline is kept.
type Terms struct {
	// Policy is its name; empty where no policy has the rule.
	Policy string
	// Warn are how long before a pause its user is told, the longest first.
	Warn []time.Duration
	// Grace is the least time between a warning and its pause.
	Grace time.Duration
	// Notify is a URL that is told too; empty for none.
	Notify string

	quiet quiet
}

// Rules are what binds one user in one project, each from the policy that is strictest
// in it. The zero value binds to nothing.
type Rules struct {
	// Limit is how long a set may be held; 0 is no limit.
	Limit      time.Duration
	LimitTerms Terms
	// Idle is how long nothing may happen; its After is 0 without an idle rule.
	Idle      Idle
	IdleTerms Terms
	// Extension is how much time a user may add in all, by ExtensionPolicy.
	Extension       time.Duration
	ExtensionPolicy string
	// Save is what a pause saves, by SavePolicy: Commit if any policy asks for it.
	Save       api.SaveMode
	SavePolicy string
	// MaxSaveBytes is the most that is saved, by MaxSavePolicy; 0 is no bound.
	MaxSaveBytes  int64
	MaxSavePolicy string
}

// Idle is what counts as work, and how long there may be none.
type Idle struct {
	After   time.Duration
	Signals []api.IdleSignal
}

// Limited reports whether anything can pause it.
func (r Rules) Limited() bool { return r.Limit > 0 || r.Idle.After > 0 }

// What the API server fills in, for policies that did not pass it.
const (
	defaultGrace   = 10 * time.Minute
	defaultMaxSave = 20 << 30
)

var allSignals = []api.IdleSignal{api.IdleGPU, api.IdleCPU, api.IdleTerminal, api.IdleKernel}

// Bind finds the strictest of each rule among the policies that bind somebody. Of
// policies that are equally strict the first by name is named, and its warnings,
// grace and quiet hours count. A policy that [Check] refuses binds nobody: rather
// than pausing at a wrong time it pauses nothing, and its status says so.
func Bind(policies []api.ReclaimPolicy, who Who) Rules {
	sorted := slices.Clone(policies)
	slices.SortFunc(sorted, func(a, b api.ReclaimPolicy) int { return cmp.Compare(a.Name, b.Name) })
	r := Rules{Save: api.SaveHome}
	for _, p := range sorted {
		if p.Spec.Scope.Binds(who.Project, who.User) {
			if quiet, err := check(p.Spec); err == nil {
				r.add(p.Name, p.Spec, quiet)
			}
		}
	}
	return r
}

func (r *Rules) add(name string, p api.ReclaimPolicySpec, q quiet) {
	terms := termsOf(name, p, q)
	if limit := time.Duration(p.MaxOccupancyHours) * time.Hour; limit > 0 && (r.Limit == 0 || limit < r.Limit) {
		r.Limit, r.LimitTerms = limit, terms
	}
	if p.Idle != nil {
		idle := Idle{After: time.Duration(p.Idle.AfterMinutes) * time.Minute, Signals: p.Idle.Signals}
		if len(idle.Signals) == 0 {
			idle.Signals = allSignals
		}
		if r.Idle.After == 0 || idle.After < r.Idle.After {
			r.Idle, r.IdleTerms = idle, terms
		}
	}
	r.addExtension(name, p)
	r.addSave(name, p)
}

func (r *Rules) addExtension(name string, p api.ReclaimPolicySpec) {
	extension := time.Duration(p.MaxExtensionHours) * time.Hour
	if (p.MaxOccupancyHours > 0 || p.Idle != nil) && (r.ExtensionPolicy == "" || extension < r.Extension) {
		r.Extension, r.ExtensionPolicy = extension, name
	}
}

func (r *Rules) addSave(name string, p api.ReclaimPolicySpec) {
	if p.Save == api.SaveCommit && r.Save != api.SaveCommit {
		r.Save, r.SavePolicy = api.SaveCommit, name
	}
	size := int64(defaultMaxSave)
	if p.MaxSaveSize != nil && p.MaxSaveSize.Sign() > 0 {
		size = p.MaxSaveSize.Value()
	}
	if r.MaxSavePolicy == "" || size < r.MaxSaveBytes {
		r.MaxSaveBytes, r.MaxSavePolicy = size, name
	}
}

func termsOf(name string, p api.ReclaimPolicySpec, q quiet) Terms {
	t := Terms{Policy: name, Grace: defaultGrace, quiet: q}
	if p.GraceMinutes != nil {
		t.Grace = time.Duration(*p.GraceMinutes) * time.Minute
	}
	for _, w := range p.WarnBefore {
		if w.Duration > 0 {
			t.Warn = append(t.Warn, w.Truncate(time.Second))
		}
	}
	slices.SortFunc(t.Warn, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	t.Warn = slices.Compact(t.Warn)
	if p.Notify != nil {
		t.Notify = p.Notify.URL
	}
	return t
}
